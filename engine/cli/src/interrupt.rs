//! Handles Ctrl-C and SIGTERM. After the first signal, running steps stop cleanly. The second signal ends the program
//! at once.

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
            None => end(),
        }
    }
}

/// Ends the process at once. This is safe at any time, because unfinished files do not have their final names yet.
#[allow(clippy::exit)] // The user requested it twice, and a step that does not check its flag may run for a long time.
fn end() -> ! {
    std::process::exit(Exit::Interrupted as i32)
}
