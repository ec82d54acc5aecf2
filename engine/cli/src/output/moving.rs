//! Shows the progress of transfers to and from the remote that no step reports.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use prep_core::units;
use prep_remote::Link;

use crate::output::printer::{MessageLevel, Printer};
use crate::output::ticker::Ticker;

const REDRAW_INTERVAL: Duration = Duration::from_millis(200);
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Describes the received and the sent bytes. Omits amounts that are zero.
pub fn describe_transfer(link: &Link) -> Vec<String> {
    let remote = link.remote();
    let amounts = [
        (remote.received(), "from the remote"),
        (remote.sent(), "to the remote"),
    ];
    let amounts = amounts.into_iter().filter(|(bytes, _)| *bytes > 0);
    let amounts = amounts.map(|(bytes, way)| format!("{} {way}", units::bytes(bytes)));
    amounts.collect()
}

/// Prints the transferred bytes on stderr until it is dropped: on a terminal in a line that is updated, otherwise in a
/// new line every ten seconds.
pub struct TransferDisplay {
    ticker: Option<Ticker>,
    bar: Option<ProgressBar>,
}

impl TransferDisplay {
    pub fn new(printer: &Printer, link: &Link) -> TransferDisplay {
        if printer.level == MessageLevel::Quiet {
            return TransferDisplay {
                ticker: None,
                bar: None,
            };
        }
        let is_terminal = std::io::stderr().is_terminal();
        let bar = is_terminal.then(ProgressBar::new_spinner);
        let interval = if is_terminal {
            REDRAW_INTERVAL
        } else {
            LINE_INTERVAL
        };
        let (printer, link, shown, begun) =
            (printer.clone(), link.clone(), bar.clone(), Instant::now());
        let tick = move || {
            let facts = describe_transfer(&link);
            if facts.is_empty() {
                return;
            }
            let time = units::duration(begun.elapsed());
            let line = format!("{}, {time}", facts.join(", "));
            match &shown {
                Some(bar) => bar.set_message(line),
                None => printer.message(line),
            }
        };
        TransferDisplay {
            ticker: Some(Ticker::start(interval, tick)),
            bar,
        }
    }
}

impl Drop for TransferDisplay {
    fn drop(&mut self) {
        drop(self.ticker.take());
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
