//! Shows the progress of a run on stderr, from the engine's events. A terminal shows a line for each running step,
//! other outputs get a line every ten seconds.
//!
//! On a narrow terminal, lines first omit amounts, then shorten the name of the competition, and last the name of the
//! step.

mod screen;
mod state;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prep_core::{Event, Reporter};
use prep_remote::Link;

use self::screen::Screen;
use self::state::State;
use crate::output::printer::Printer;
use crate::output::ticker::Ticker;

/// Maximum number of running steps that are shown. Others are only counted.
const MAX_LINES: usize = 5;

/// A progress display. A thread redraws it until it is dropped.
pub struct Display {
    shared: Arc<Shared>,
    ticker: Option<Ticker>,
}

struct Shared {
    state: Mutex<State>,
    screen: Screen,
}

impl Display {
    /// Starts a display. `work` is the number of steps of each competition that may run. The display also shows
    /// transfers to and from `remote`.
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

    /// Returns the reporter that passes events to the display.
    pub fn reporter(&self) -> Arc<dyn Reporter> {
        self.shared.clone()
    }

    /// Returns a function that shows a line above the bars.
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
        let report_starts = matches!(self.screen, Screen::Lines);
        let lines = self.state.lock().apply(event, report_starts);
        for line in lines {
            self.screen.line(&line);
        }
    }
}
