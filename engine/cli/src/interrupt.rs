//! Ctrl-C and SIGTERM: the first one lets running steps stop cleanly, the second one ends the program at once.

use prep_core::Cancel;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::printer::Printer;

/// What is said at the first signal.
pub const STOPPING: &str = "stopping; press Ctrl-C again to end at once";

/// A runtime, and what the first signal cancels while it is there.
///
/// # Errors
/// As [`watch`], and when threads cannot be started.
pub fn watched(printer: &Printer) -> Result<(Runtime, Cancel), CliError> {
    let cancel = Cancel::default();
    let runtime = prep_app::runtime()?;
    let printer = printer.clone();
    {
        let _inside = runtime.enter();
        watch(cancel.clone(), move || printer.message(STOPPING))?;
    }
    Ok((runtime, cancel))
}

/// Watches for signals until the runtime ends. `notice` is called at the first one.
///
/// # Errors
/// When the operating system does not let signals be watched.
pub fn watch(cancel: Cancel, notice: impl FnOnce() + Send + 'static) -> Result<(), CliError> {
    let failed = |error| CliError::new(Exit::Machine, format!("cannot watch for signals: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    tokio::spawn(async move {
        let mut notice = Some(notice);
        loop {
            let more = tokio::select! {
                more = interrupt.recv() => more,
                more = terminate.recv() => more,
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
    });
    Ok(())
}

/// Ends at once. Nothing unfinished is visible under a final name, so this is safe at any moment.
#[allow(clippy::exit)] // The user insists, and a step that does not look at its flag cannot be waited for.
fn end() -> ! {
    std::process::exit(Exit::Interrupted as i32)
}
