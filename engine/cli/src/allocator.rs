//! Settings of the allocator for freed memory.
//!
//! The GNU C library maps large blocks separately, and unmaps them when they are freed. But each time it raises the threshold of
//! large blocks to the size of the block, up to 32 MiB. From then on, columns and hash tables of queries are between small blocks that
//! stay, and freed memory between them is kept: for archives of many files, twice the used memory. A threshold that the program
//! sets is not raised any more.
//!
//! Smaller blocks are allocated and freed all the time. The library would return the end of a heap as soon as 128 KiB of it are free,
//! and each page that is needed again costs a page fault.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use self::glibc::set_up;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::ffi::c_int;

    // From `malloc.h`.
    const M_TRIM_THRESHOLD: c_int = -1;
    const M_MMAP_THRESHOLD: c_int = -3;

    /// Blocks of this size are mapped separately. Smaller ones are too frequent for a system call each.
    const LARGE: c_int = 1 << 20;
    /// Free bytes at the end of a heap that are kept.
    const SPARE: c_int = 16 << 20;

    /// Applies the settings. Must be called before any thread is started.
    pub fn set_up() {
        #[allow(unsafe_code, reason = "see below")]
        // SAFETY: the declaration is that of malloc.h. mallopt(3) takes any two numbers and only sets a parameter of the
        // allocator; it must not run at the same time as other calls of it, and there is only one thread.
        unsafe {
            unsafe extern "C" {
                fn mallopt(parameter: c_int, value: c_int) -> c_int;
            }
            // If it fails, the defaults stay.
            let _ = mallopt(M_MMAP_THRESHOLD, LARGE);
            let _ = mallopt(M_TRIM_THRESHOLD, SPARE);
        }
    }
}

/// Other allocators have no such settings.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn set_up() {}
