//! Progress on stderr: on a terminal a line for each running step, otherwise a line from time to time. Reads the engine's events.
//!
//! The name of a step is most important. A narrow terminal first loses amounts, then parts of the competition's name.

mod screen;
mod state;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prep_core::{Event, Reporter};
use prep_remote::Link;

use self::screen::Screen;
use self::state::State;
use crate::output::printer::Printer;
use crate::output::ticker::Ticker;

/// Lines of running steps; further ones are only counted.
const MAX_LINES: usize = 5;

/// A reporter with a thread that redraws. Stops when it is dropped.
pub struct Display {
    shared: Arc<Shared>,
    ticker: Option<Ticker>,
}

struct Shared {
    state: Mutex<State>,
    screen: Screen,
}

impl Display {
    /// `work` is the number of steps of each competition that may run. Transfers to and from `remote` are shown, too.
    pub fn new(printer: &Printer, work: &HashMap<String, usize>, remote: Option<Link>) -> Display {
        let state = State::new(work, remote);
        let shared = Arc::new(Shared {
            screen: Screen::new(printer, state.steps),
            state: Mutex::new(state),
        });
        let drawn = shared.clone();
        let draw = move || drawn.screen.draw(&drawn.state);
        let interval = shared.screen.interval();
        Display {
            ticker: interval.map(|interval| Ticker::start(interval, draw)),
            shared,
        }
    }

    /// A reader of events.
    pub fn reporter(&self) -> Arc<dyn Reporter> {
        self.shared.clone()
    }

    /// Shows a line above the bars.
    pub fn notice(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let shared = self.shared.clone();
        move |text| shared.screen.line(text)
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        drop(self.ticker.take());
        self.shared.screen.clear();
    }
}

impl Reporter for Shared {
    fn event(&self, event: &Event) {
        let begins = matches!(self.screen, Screen::Lines);
        let lines = lock(&self.state).apply(event, begins);
        for line in lines {
            self.screen.line(&line);
        }
    }
}

/// Locks a mutex; its data is sound even if a holder panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
