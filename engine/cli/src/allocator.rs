//! Memory that is freed goes back to the system.
//!
//! The GNU C library maps large blocks on their own, and unmaps them when they are freed. But each time it raises what it
//! calls large to the size of the block, up to 32 MiB. From then on the columns and hash tables of queries lie among small
//! things that stay, and what was freed between them is kept: twice of what is in use, on archives of many files. A
//! threshold that was set is not raised any more.

/// Blocks of this size are mapped on their own. Smaller ones are made too often for a call of the system each.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: std::ffi::c_int = 1 << 20;

/// To be called before any thread is started.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn return_what_is_freed() {
    /// From `malloc.h`.
    const M_MMAP_THRESHOLD: std::ffi::c_int = -3;

    #[allow(unsafe_code, reason = "see below")]
    // SAFETY: the declaration is that of malloc.h. mallopt(3) takes any two numbers and only sets a parameter of the
    // allocator; it must not run beside other calls of it, and there is one thread yet.
    unsafe {
        unsafe extern "C" {
            fn mallopt(parameter: std::ffi::c_int, value: std::ffi::c_int) -> std::ffi::c_int;
        }
        // Where it refuses, more memory is kept.
        let _ = mallopt(M_MMAP_THRESHOLD, LARGE);
    }
}

/// Other allocators have no such threshold.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn return_what_is_freed() {}
