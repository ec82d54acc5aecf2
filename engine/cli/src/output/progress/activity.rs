//! Shows on stderr what a verb is doing while it prints nothing else for seconds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prep_core::units;

use crate::output::printer::{Printer, Ticker};

/// Time of work after which the first message appears.
const FIRST: Duration = Duration::from_secs(2);
/// The time between two messages is this number times `FIRST`.
const REPEAT: u32 = 5;

/// Prints a message after two seconds of work, and again every ten seconds, until the `Activity` is dropped.
pub struct Activity {
    current: Arc<Mutex<String>>,
    _ticker: Ticker,
}

impl Activity {
    /// Starts to print messages. `doing` describes the work, for example `reading a-competition`.
    pub fn start(printer: &Printer, doing: impl Into<String>) -> Activity {
        let current = Arc::new(Mutex::new(doing.into()));
        let (printer, shown, begun) = (printer.clone(), current.clone(), Instant::now());
        let mut ticks = 0;
        let tick = move || {
            if ticks % REPEAT == 0 {
                let time = units::duration(begun.elapsed());
                printer.message_aside(format!("{}, {time}", shown.lock()));
            }
            ticks += 1;
        };
        Activity {
            current,
            _ticker: Ticker::start(FIRST, tick),
        }
    }

    pub fn set(&self, doing: impl Into<String>) {
        *self.current.lock() = doing.into();
    }
}
