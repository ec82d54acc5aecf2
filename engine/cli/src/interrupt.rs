//! Ctrl-C and SIGTERM: the first one lets running steps stop cleanly, the second one ends the program at once.

use std::io;
use std::sync::mpsc;
use std::thread;

use prep_core::Cancel;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::printer::Printer;

/// The message at the first signal.
pub const STOPPING: &str = "stopping; press Ctrl-C again to end at once";

/// Signals are watched until this is dropped.
pub struct Watching {
    _stop: oneshot::Sender<()>,
}

/// Watches for signals, and what the first one cancels.
///
/// # Errors
/// As [`watch`].
pub fn watched(printer: &Printer) -> Result<(Watching, Cancel), CliError> {
    let cancel = Cancel::default();
    let printer = printer.clone();
    let watching = watch(cancel.clone(), move || printer.message(STOPPING))?;
    Ok((watching, cancel))
}

/// Watches for signals on a thread of its own. `notice` is called at the first one. If the system starts no further thread,
/// a signal ends the program at once.
///
/// # Errors
/// When the operating system does not let signals be watched.
pub fn watch(cancel: Cancel, notice: impl FnOnce() + Send + 'static) -> Result<Watching, CliError> {
    let (stop, stopped) = oneshot::channel();
    let (tell, told) = mpsc::channel();
    let work = move || {
        let (runtime, interrupt, terminate) = match signals() {
            Ok(signals) => signals,
            Err(error) => {
                let _ = tell.send(Err(error));
                return;
            }
        };
        let _ = tell.send(Ok(()));
        runtime.block_on(wait(stopped, interrupt, terminate, &cancel, notice));
    };
    let thread = thread::Builder::new().name("signals".to_owned());
    if thread.spawn(work).is_ok()
        && let Ok(Err(error)) = told.recv()
    {
        let message = format!("cannot watch for signals: {error}");
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
            None => end(),
        }
    }
}

/// Ends at once. Nothing unfinished is visible under a final name, so this is safe at any moment.
#[allow(clippy::exit)] // The user insists, and a step that does not look at its flag cannot be waited for.
fn end() -> ! {
    std::process::exit(Exit::Interrupted as i32)
}
