//! Configures the allocator so that it returns freed memory to the system.
//!
//! The GNU C library maps large blocks separately, and unmaps them when they are freed. But each time it raises the
//! threshold of large blocks to the size of the freed block, up to 32 MiB. Then the columns and hash tables of queries
//! are allocated between small long-lived blocks, and the heap keeps their memory when they are freed. With archives of
//! many files, the process takes twice the memory that it uses. If the program sets the threshold, the library does not
//! raise it.
//!
//! Small blocks are allocated and freed all the time. By default, the library returns the end of a heap as soon as 128
//! KiB of it are free. Each page that is needed again then costs a page fault.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use self::glibc::set_up;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::ffi::c_int;

    // From `malloc.h`.
    const M_TRIM_THRESHOLD: c_int = -1;
    const M_MMAP_THRESHOLD: c_int = -3;

    /// Blocks of at least this size are mapped separately. Smaller blocks are too frequent for a system call each.
    const LARGE_BLOCK_BYTES: c_int = 1 << 20;
    /// Number of free bytes at the end of a heap that are not returned to the system.
    const KEPT_BYTES: c_int = 16 << 20;

    /// Applies the settings. Must be called before any thread is started.
    pub fn set_up() {
        #[allow(unsafe_code, reason = "see below")]
        // SAFETY: the declaration is that of malloc.h. mallopt(3) takes any two numbers and only sets a parameter of
        // the allocator. It must not be called concurrently, and there is only one thread.
        unsafe {
            unsafe extern "C" {
                fn mallopt(parameter: c_int, value: c_int) -> c_int;
            }
            // If a call fails, the default applies.
            let _ = mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
            let _ = mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
        }
    }
}

/// Does nothing, because other allocators have no such settings.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn set_up() {}
