//! Shows on stderr what a verb is doing while it prints nothing else for seconds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prep_core::units;

use crate::output::printer::{Printer, Ticker};

const TICK: Duration = Duration::from_millis(500);
/// Time of work after which the first message appears.
const FIRST: Duration = Duration::from_secs(2);

/// Prints a message after two seconds of work, and again at each interval of the printer, until the `Activity` is dropped.
pub struct Activity {
    current: Arc<Mutex<String>>,
    _ticker: Ticker,
}

impl Activity {
    /// Starts to print messages. `doing` describes the work, for example `reading a-competition`.
    pub fn start(printer: &Printer, doing: impl Into<String>) -> Activity {
        let current = Arc::new(Mutex::new(doing.into()));
        let (printer, shown, begun) = (printer.clone(), current.clone(), Instant::now());
        let mut next = FIRST;
        let tick = move || {
            let time = begun.elapsed();
            if time >= next {
                printer.message_aside(format!("{}, {}", shown.lock(), units::duration(time)));
                next = time + printer.line_interval;
            }
        };
        Activity {
            current,
            _ticker: Ticker::start(TICK, tick),
        }
    }

    pub fn set(&self, doing: impl Into<String>) {
        *self.current.lock() = doing.into();
    }
}
