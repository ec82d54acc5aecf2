//! Configures the allocator of the process, and handles signals and exhausted resources of the system.
//!
//! **The allocator.** The GNU C library maps each large block separately, and unmaps the block when it is freed. After
//! freeing a large block, the library raises its threshold for large blocks to the size of this block, up to 32 MiB. Later
//! blocks below the threshold are on the heap. The library cannot return free memory between long-lived blocks to the
//! system, so the process may keep twice the memory that it uses. Therefore the program fixes the threshold.
//!
//! If 128 KiB at the end of the heap are free, the library returns these pages to the system. Using a returned page again
//! costs a page fault. Therefore the program raises this limit. The heap of a thread grows by a few pages per system call.
//! Therefore the program makes new heaps larger.
//!
//! **Threads.** Libraries panic if they cannot start a thread. The panic hook then ends the program, because a runtime that
//! started only some of its threads would wait forever.
//!
//! **Open files.** Some libraries panic if they cannot open a file. The panic hook recognizes the system's message and ends
//! the program.
//!
//! **Memory.** After a failed allocation, the standard library prints the size and aborts. The allocator records the
//! failure, and the handler of the abort signal ends the program. If a library handles the failure, the program continues.
//!
//! **File size.** A write that exceeds the limit (`ulimit -f`) causes a signal, which would end the program. The program
//! catches the signal, and the write returns an error.
//!
//! **Ctrl-C and SIGTERM.** The first signal stops running steps cleanly. The second signal ends the program at once.

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

/// Panic messages of the standard library and of tokio after a failed start of a thread.
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

// Signal numbers from signal.h. They are the same on all systems that this program supports.
const SIGABRT: c_int = 6;
const SIGXFSZ: c_int = 25;

/// Installs the handlers. No other thread may run yet.
pub fn set_up() {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match exhausted(panic) {
        Some(message) => end(message),
        None => {
            default_hook(panic);
            // The panic ends this thread. The thread that waits for it ends the program with the exit code of a bug.
            print(BUG);
        }
    }));
    #[allow(
        unsafe_code,
        reason = "the handlers only do what signal-safety(7) allows"
    )]
    // SAFETY: the handlers read a thread-local of plain data without a destructor, and call write(2) and _exit(2).
    unsafe {
        // If a handler cannot be registered, the default action of its signal applies.
        let _ = signal_hook_registry::register(SIGABRT, || {
            if FAILED.get() {
                end(NO_MEMORY);
            }
        });
        let _ = signal_hook_registry::register(SIGXFSZ, || {});
    }
}

/// Returns the message for a panic after an exhausted resource. Returns `None` for other panics.
fn exhausted(panic: &PanicHookInfo<'_>) -> Option<&'static str> {
    let text = panic.payload_as_str().unwrap_or_default();
    match text {
        // The panic message contains the system's error, for example if a runtime could not create its event queue.
        _ if text.contains("Too many open files") => Some(NO_FILES),
        _ if OUT_OF_THREADS.iter().any(|one| text.starts_with(one)) => Some(NO_THREAD),
        _ => None,
    }
}

/// Prints `text` and ends the process at once. Unfinished files are safe, because they do not have their final names yet.
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

/// Writes to stderr without a lock or an allocation. Ignores errors, because the exit code also shows the cause.
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
    /// Whether an allocation of this thread failed.
    static FAILED: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, which also records failed allocations.
pub struct Allocator;

/// Records a failure if `block` is null, and returns `block`.
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
    const M_TOP_PAD: c_int = -2;
    const M_MMAP_THRESHOLD: c_int = -3;

    /// Blocks of at least this size are mapped separately. Smaller blocks are too frequent for a system call each.
    const LARGE_BLOCK_BYTES: c_int = 1 << 20;
    /// Number of free bytes at the end of a heap that the library does not return to the system.
    const KEPT_BYTES: c_int = 16 << 20;
    /// Number of bytes by which a new heap is larger than its first block. Pages that are never used take no memory.
    const NEW_HEAP_BYTES: c_int = 4 << 20;

    /// Applies the settings. No other thread may run yet.
    pub fn set_up_allocator() {
        #[allow(unsafe_code, reason = "see below")]
        // SAFETY: the declaration is that of malloc.h. mallopt(3) takes any two numbers and only sets a parameter of
        // the allocator. It must not be called concurrently, and there is only one thread.
        unsafe {
            unsafe extern "C" {
                fn mallopt(parameter: c_int, value: c_int) -> c_int;
            }
            // After a failed call, the default applies.
            let _ = mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
            let _ = mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
            let _ = mallopt(M_TOP_PAD, NEW_HEAP_BYTES);
        }
    }
}

/// Other allocators have no such settings.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn set_up_allocator() {}

pub const STOPPING: &str = "stopping; press Ctrl-C again to end at once";

/// While this value exists, a separate thread handles signals.
pub struct Watching {
    _stop: oneshot::Sender<()>,
}

/// Handles signals as long as the first returned value exists. The first signal sets the returned flag, and prints a message.
pub fn watched(printer: &Printer) -> Result<(Watching, Cancel), CliError> {
    let cancel = Cancel::default();
    let printer = printer.clone();
    let watching = watch(cancel.clone(), move || printer.message(STOPPING))?;
    Ok((watching, cancel))
}

/// Handles signals on a separate thread. The first signal sets `cancel` and calls `notice`.
/// If the thread cannot be started, a signal ends the program at once.
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

/// Creates the streams of SIGINT and SIGTERM, and the runtime to which they belong.
fn signals() -> io::Result<(Runtime, Signal, Signal)> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let inside = runtime.enter();
    let interrupt = signal(SignalKind::interrupt())?;
    let terminate = signal(SignalKind::terminate())?;
    drop(inside);
    Ok((runtime, interrupt, terminate))
}

/// Waits for signals until the sender of `stopped` is dropped. The first signal sets `cancel` and calls `notice`. The
/// second ends the program.
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

/// Ends the program without cleaning up. Unfinished files are safe, because they do not have their final names yet.
#[allow(clippy::exit)] // The user sent two signals, and a step that does not check the cancel flag may run for a long time.
fn end_at_once() -> ! {
    std::process::exit(Exit::Interrupted as i32)
}
