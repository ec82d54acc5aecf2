//! The system's resources, and the end of the process: the allocator, exhausted threads, open files and memory, and signals.
//!
//! * **The allocator** returns freed memory to the system. The GNU C library maps large blocks separately, and unmaps
//!   them when they are freed. But each time, it raises the threshold of large blocks to the size of the freed block, up
//!   to 32 MiB. Later blocks below the new threshold are on the heap, between small long-lived blocks. There the library
//!   cannot return their memory to the system, so the process may take twice the memory that it uses. Therefore the
//!   program sets a fixed threshold.
//!   By default, the library also returns the end of the heap as soon as 128 KiB of it are free. Each page that is needed
//!   again then costs a page fault. Therefore the program raises this limit.
//! * **Threads.** This workspace can run without additional threads, but libraries panic if they cannot start one.
//!   The panic hook then ends the program. Unwinding is not enough, because a runtime waits forever if only some of its
//!   threads were started.
//! * **Open files.** Some libraries panic if they cannot open a file, with the error of the system in the message. The
//!   panic hook recognizes this message and ends the program.
//! * **Memory.** After a failed allocation, the standard library prints the size and aborts. The allocator records
//!   the failure, and the handler of the abort signal ends the program. Libraries that handle failed allocations get an
//!   error as usual.
//! * **File size.** By default, a signal ends the program if a file exceeds the limit (`ulimit -f`). The signal is
//!   caught, so that the write fails with an error.
//! * **Ctrl-C and SIGTERM.** After the first signal, running steps stop cleanly. The second signal ends the program at once.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_int;
use std::panic::PanicHookInfo;
use std::sync::mpsc;
use std::{io, thread};

use prep_core::Cancel;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::error::{CliError, Exit, raise_open_files};
use crate::output::printer::Printer;

const NO_THREAD: &str = "\
error: the system cannot start another thread
help: raise the process limit (`ulimit -u`, or the container's limit), or lower --jobs and --connections
";

const NO_FILES: &str = concat!(
    "error: the system cannot open another file\nhelp: ",
    raise_open_files!(),
    "\n"
);

const NO_MEMORY: &str = "\
error: the system is out of memory
help: raise the memory limit (`ulimit -v`, or the container's limit), or lower --memory and --jobs
";

const BUG: &str = "\
error: this is a bug in prep
help: report it with the lines above, your command, and the output of `prep --version` and `prep doctor --offline`
";

/// Panic messages of the standard library and of tokio if a thread cannot be started or set up.
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

// Signal numbers from signal.h. They are the same on all systems for which this program is built.
const SIGABRT: c_int = 6;
const SIGXFSZ: c_int = 25;

/// Installs the handlers. Must be called before any thread is started.
pub fn set_up() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match exhausted(panic) {
        Some(message) => end(message),
        None => {
            usual(panic);
            // The thread that joins this one ends the program with the exit code of a bug.
            print(BUG);
        }
    }));
    #[allow(
        unsafe_code,
        reason = "the handlers only do what signal-safety(7) allows"
    )]
    // SAFETY: the handlers read a thread-local of plain data without a destructor, and call write(2) and _exit(2).
    unsafe {
        // If a handler cannot be registered, the default action of the signal applies.
        let _ = signal_hook_registry::register(SIGABRT, || {
            if FAILED.get() {
                end(NO_MEMORY);
            }
        });
        let _ = signal_hook_registry::register(SIGXFSZ, || {});
    }
}

/// Returns the message for a panic of a library because of an exhausted resource. Returns `None` for other panics.
fn exhausted(panic: &PanicHookInfo<'_>) -> Option<&'static str> {
    let text = panic.payload_as_str().unwrap_or_default();
    match text {
        // Libraries panic with the error of the system, for example if a runtime cannot create its event queue.
        _ if text.contains("Too many open files") => Some(NO_FILES),
        _ if OUT_OF_THREADS.iter().any(|one| text.starts_with(one)) => Some(NO_THREAD),
        _ => None,
    }
}

/// Prints `text` and ends the process at once. This is safe at any time, because unfinished files do not have their
/// final names yet.
fn end(text: &str) -> ! {
    print(text);
    #[allow(
        unsafe_code,
        reason = "also called in signal handlers, where only few functions are allowed"
    )]
    // SAFETY: _exit(2) may be called at any time.
    unsafe {
        _exit(Exit::Machine as c_int)
    }
}

/// Writes to stderr without a lock or an allocation. Errors are ignored, because the exit code shows the cause too.
fn print(text: &str) {
    #[allow(
        unsafe_code,
        reason = "also called in signal handlers, where only few functions are allowed"
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

/// The system's allocator. It also records failed allocations.
pub struct Allocator;

/// Records a failure if `block` is null. Returns `block`.
fn record_failure(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        FAILED.set(true);
    }
    block
}

#[allow(
    unsafe_code,
    reason = "an allocator cannot be written without unsafe code"
)]
// SAFETY: every call is forwarded unchanged to the system's allocator, and its result is returned unchanged.
// `record_failure` neither allocates nor unwinds, because the thread-local is plain data.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of this method, and the system's allocator has the same contract.
        record_failure(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of this method, and the system's allocator has the same contract.
        record_failure(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of this method, and the system's allocator has the same contract.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller upholds the contract of this method, and the system's allocator has the same contract.
        record_failure(unsafe { System.realloc(block, layout, size) })
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use self::glibc::set_up_allocator;

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
    pub fn set_up_allocator() {
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
pub fn set_up_allocator() {}

/// The message that is printed after the first signal.
pub const STOPPING: &str = "stopping; press Ctrl-C again to end at once";

/// Handles signals until it is dropped.
pub struct Watching {
    _stop: oneshot::Sender<()>,
}

/// Starts to handle signals. Returns a flag that the first signal sets.
///
/// # Errors
/// Same as [`watch`].
pub fn watched(printer: &Printer) -> Result<(Watching, Cancel), CliError> {
    let cancel = Cancel::default();
    let printer = printer.clone();
    let watching = watch(cancel.clone(), move || printer.message(STOPPING))?;
    Ok((watching, cancel))
}

/// Handles signals on a separate thread. The first signal sets `cancel` and calls `notice`. If the thread cannot be
/// started, a signal ends the program at once.
///
/// # Errors
/// Returns an error if the signal handlers cannot be installed.
pub fn watch(cancel: Cancel, notice: impl FnOnce() + Send + 'static) -> Result<Watching, CliError> {
    let (stop, stopped) = oneshot::channel();
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        let (runtime, interrupt, terminate) = match signals() {
            Ok(signals) => signals,
            Err(error) => {
                let _ = sender.send(Err(error));
                return;
            }
        };
        let _ = sender.send(Ok(()));
        runtime.block_on(wait(stopped, interrupt, terminate, &cancel, notice));
    };
    let thread = thread::Builder::new().name("signals".to_owned());
    if thread.spawn(work).is_ok()
        && let Ok(Err(error)) = receiver.recv()
    {
        let message = format!("cannot handle signals: {error}");
        return Err(CliError::new(Exit::Machine, message));
    }
    Ok(Watching { _stop: stop })
}

fn signals() -> io::Result<(Runtime, Signal, Signal)> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let inside = runtime.enter();
    let interrupt = signal(SignalKind::interrupt())?;
    let terminate = signal(SignalKind::terminate())?;
    drop(inside);
    Ok((runtime, interrupt, terminate))
}

async fn wait(
    mut stopped: oneshot::Receiver<()>,
    mut interrupt: Signal,
    mut terminate: Signal,
    cancel: &Cancel,
    notice: impl FnOnce(),
) {
    let mut notice = Some(notice);
    loop {
        let more = tokio::select! {
            more = interrupt.recv() => more,
            more = terminate.recv() => more,
            _ = &mut stopped => return,
        };
        match notice.take() {
            _ if more.is_none() => return,
            Some(notice) => {
                cancel.cancel();
                notice();
            }
            None => end_at_once(),
        }
    }
}

/// Ends the process at once. This is safe at any time, because unfinished files do not have their final names yet.
#[allow(clippy::exit)] // The user sent two signals, and a step that does not check the cancel flag may run for a long time.
fn end_at_once() -> ! {
    std::process::exit(Exit::Interrupted as i32)
}
