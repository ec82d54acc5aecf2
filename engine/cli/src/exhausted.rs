//! Ends the program with a message and exit code 6 if the system lacks threads, memory or file length.
//!
//! * **Threads.** The threads of this workspace are optional, but libraries panic without theirs. The panic hook ends the
//!   program: unwinding would not do, since a runtime that is half started waits for its other half.
//! * **Memory.** A failed allocation aborts, after the standard library has printed its size. The allocator records
//!   the failure, and the handler of the abort then ends the program. Libraries that request memory in a way that can
//!   fail get their error as before.
//! * **Length of files.** A signal would end the program at the limit (`ulimit -f`). It is caught, so the write fails.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_int;
use std::panic::PanicHookInfo;

use crate::exit::Exit;

const NO_THREAD: &str = "\
error: the system starts no further thread
help: raise the limit of processes (`ulimit -u`, or that of the container), or lower --jobs and --connections
";

const NO_MEMORY: &str = "\
error: the system has no more memory
help: raise the limit (`ulimit -v`, or that of the container), or lower --memory and --jobs
";

const DEFECT: &str = "\
error: this is a defect of prep
help: report it with the lines above, your command, and the output of `prep --version` and `prep doctor --offline`
";

/// Panic messages of the standard library and tokio if a thread cannot be started or set up.
const OUT_OF_THREADS: [&str; 3] = [
    "failed to spawn thread",
    "OS can't spawn worker thread",
    "failed to allocate an alternative stack",
];

#[allow(unsafe_code, reason = "declarations as in unistd.h")]
unsafe extern "C" {
    fn write(file: c_int, bytes: *const u8, count: usize) -> isize;
    fn _exit(code: c_int) -> !;
}

// signal.h: the same numbers on all systems that this program is built for.
const SIGABRT: c_int = 6;
const SIGXFSZ: c_int = 25;

/// Installs the handlers. Must be called before any thread is started.
pub fn set_up() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match is_out_of_threads(panic) {
        true => end(NO_THREAD),
        false => {
            usual(panic);
            // The thread that waits for this one ends the program with the code of a defect.
            print(DEFECT);
        }
    }));
    #[allow(
        unsafe_code,
        reason = "the handlers only do what signal-safety(7) allows"
    )]
    // SAFETY: the handlers read a thread-local of plain data without a destructor, and call write(2) and _exit(2).
    unsafe {
        // Without a handler, the default stays.
        let _ = signal_hook_registry::register(SIGABRT, || {
            if FAILED.get() {
                end(NO_MEMORY);
            }
        });
        let _ = signal_hook_registry::register(SIGXFSZ, || {});
    }
}

fn is_out_of_threads(panic: &PanicHookInfo<'_>) -> bool {
    let text = panic.payload_as_str().unwrap_or_default();
    OUT_OF_THREADS.iter().any(|one| text.starts_with(one))
}

/// Ends at once. Nothing unfinished is visible under a final name, so this is safe at any moment.
fn end(text: &str) -> ! {
    print(text);
    #[allow(
        unsafe_code,
        reason = "also called where only few functions of the system are allowed"
    )]
    // SAFETY: it may be called at any time.
    unsafe {
        _exit(Exit::Machine as c_int)
    }
}

/// Writes to stderr without a lock or an allocation. If that fails, the exit code is the message.
fn print(text: &str) {
    #[allow(
        unsafe_code,
        reason = "also called where only few functions of the system are allowed"
    )]
    // SAFETY: `text` is valid for reads of its length, and the function may be called at any time.
    unsafe {
        let _ = write(2, text.as_ptr(), text.len());
    }
}

thread_local! {
    /// Whether an allocation failed on this thread.
    static FAILED: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, which notes failures.
pub struct Allocator;

fn noted(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        FAILED.set(true);
    }
    block
}

#[allow(unsafe_code, reason = "an allocator cannot be written without")]
// SAFETY: every call is passed on as it is to the system's allocator, and so is what it returns. `noted` neither allocates
// nor unwinds: the thread-local is plain data.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        noted(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        noted(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's.
        noted(unsafe { System.realloc(block, layout, size) })
    }
}
