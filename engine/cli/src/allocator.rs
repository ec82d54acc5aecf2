//! What the process does with freed memory.
//!
//! The GNU C library maps large blocks on their own, and unmaps them when they are freed. But each time it raises what it
//! calls large to the size of the block, up to 32 MiB. From then on the columns and hash tables of queries lie among small
//! things that stay, and what was freed between them is kept: twice of what is in use, on archives of many files. A
//! threshold that was set is not raised any more.
//!
//! Smaller blocks are made and freed all the time. It would give the end of a heap back as soon as 128 KiB of it are free,
//! and each page that is taken again costs a fault.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use self::glibc::set_up;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::ffi::c_int;

    // From `malloc.h`.
    const M_TRIM_THRESHOLD: c_int = -1;
    const M_MMAP_THRESHOLD: c_int = -3;

    /// Blocks of this size are mapped on their own. Smaller ones are made too often for a call of the system each.
    const LARGE: c_int = 1 << 20;
    /// So much at the end of a heap may be free.
    const SPARE: c_int = 16 << 20;

    /// To be called before any thread is started.
    pub fn set_up() {
        #[allow(unsafe_code, reason = "see below")]
        // SAFETY: the declaration is that of malloc.h. mallopt(3) takes any two numbers and only sets a parameter of the
        // allocator; it must not run beside other calls of it, and there is one thread yet.
        unsafe {
            unsafe extern "C" {
                fn mallopt(parameter: c_int, value: c_int) -> c_int;
            }
            // Where it refuses, all goes on as it was.
            let _ = mallopt(M_MMAP_THRESHOLD, LARGE);
            let _ = mallopt(M_TRIM_THRESHOLD, SPARE);
        }
    }
}

/// Other allocators have no such settings.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn set_up() {}
