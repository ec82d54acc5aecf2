//! Shows the progress of a run on stderr. A terminal shows a line for each running step.
//! Other outputs get one line about the run every ten seconds, or as often as the variable `PREP_STATUS_SECONDS` states.
//!
//! If the terminal is too narrow, a line first omits its last figures, such as the remaining time. If a line is still too
//! long, the name of the competition is shortened, and then the name of the step.

pub mod activity;
mod fraction;
pub mod state;

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write as _};
use std::sync::Arc;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use parking_lot::Mutex;
use prep_app::StepWork;
use prep_core::{Event, Reporter};
use prep_remote::Link;
use terminal_size::{Width, terminal_size_of};

use crate::output::printer::Ticker;
use crate::output::printer::{MessageLevel, Printer, printable};
use prep_spec::shortened;
use state::{MAX_LINES, State};

/// A progress display, which a thread redraws until the `Display` is dropped.
pub struct Display {
    shared: Arc<Shared>,
    ticker: Option<Ticker>,
}

struct Shared {
    state: Mutex<State>,
    screen: Screen,
}

impl Display {
    /// Starts the display. `work` contains the steps that may run. The display also shows transfers to and from
    /// `remote`.
    pub fn new(printer: &Printer, work: &[StepWork], remote: Option<Link>) -> Display {
        let state = State::new(work, remote);
        let shared = Arc::new(Shared {
            screen: Screen::new(printer, state.steps),
            state: Mutex::new(state),
        });
        let drawn = shared.clone();
        let draw = move || drawn.screen.draw(&drawn.state);
        let interval = shared.screen.interval(printer);
        Display {
            ticker: interval.map(|interval| Ticker::start(interval, draw)),
            shared,
        }
    }

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

/// Width, in characters, if the terminal does not report one.
const DEFAULT_WIDTH: usize = 80;
pub(super) const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

enum Screen {
    Bars(Bars),
    Lines,
    Silent,
}

struct Bars {
    multi: MultiProgress,
    total: ProgressBar,
    steps: Mutex<BTreeMap<(String, String), ProgressBar>>,
}

impl Screen {
    fn new(printer: &Printer, steps: usize) -> Screen {
        if printer.level == MessageLevel::Quiet || steps == 0 {
            return Screen::Silent;
        }
        if !std::io::stderr().is_terminal() {
            return Screen::Lines;
        }
        let multi = MultiProgress::new();
        let total = ProgressBar::new(BAR_PARTS).with_style(style("{bar:20} {msg}"));
        Screen::Bars(Bars {
            total: multi.add(total),
            multi,
            steps: Mutex::default(),
        })
    }

    /// Returns the time between two updates, or `None` if the screen shows nothing.
    fn interval(&self, printer: &Printer) -> Option<Duration> {
        match self {
            Screen::Bars(_) => Some(REDRAW_INTERVAL),
            Screen::Lines => Some(printer.line_interval),
            Screen::Silent => None,
        }
    }

    fn draw(&self, state: &Mutex<State>) {
        match self {
            Screen::Bars(bars) => bars.draw(&mut state.lock()),
            Screen::Lines => {
                let line = {
                    let mut state = state.lock();
                    state.update_figures();
                    state.line()
                };
                self.line(&line);
            }
            Screen::Silent => {}
        }
    }

    fn line(&self, text: &str) {
        let text = &printable(text);
        match self {
            Screen::Bars(bars) => {
                let _ = bars.multi.println(text);
            }
            Screen::Lines => {
                // Ignores errors: the run goes on if stderr is closed or its disk is full.
                let _ = writeln!(anstream::stderr(), "{text}");
            }
            Screen::Silent => {}
        }
    }

    fn clear(&self) {
        if let Screen::Bars(bars) = self {
            let _ = bars.multi.clear();
        }
    }
}

impl Bars {
    /// Redraws all bars. A step gets its bar here and not when it starts, so that short steps do not flicker.
    fn draw(&self, state: &mut State) {
        state.update_figures();
        let width = terminal_width();
        self.total
            .set_position((state.fraction.done() * BAR_PARTS as f64) as u64);
        let facts = fit_facts("", &state.facts(), width.saturating_sub(BAR_WIDTH + 1));
        self.total.set_message(facts);
        let mut bars = self.steps.lock();
        bars.retain(|name, bar| {
            let is_running = state.running.contains_key(name);
            if !is_running {
                self.multi.remove(bar);
            }
            is_running
        });
        for (name, running) in &state.running {
            if !bars.contains_key(name) {
                if bars.len() >= MAX_LINES {
                    continue;
                }
                let bar = ProgressBar::no_length().with_style(style("{msg}"));
                bars.insert(name.clone(), self.multi.add(bar));
            }
            if let Some(bar) = bars.get(name) {
                let (competition, step) = name;
                let name = name_within(competition, step, width.saturating_sub(2));
                bar.set_message(fit_facts(&format!("  {name}"), &running.facts(), width));
            }
        }
    }
}

/// Returns the number of usable columns of the terminal. The last column stays empty, because some terminals wrap a line
/// that fills it.
fn terminal_width() -> usize {
    let width = terminal_size_of(std::io::stderr()).map(|(Width(width), _)| width);
    width.map_or(DEFAULT_WIDTH, usize::from).saturating_sub(1)
}

/// Formats `competition/step` in at most `width` characters. First shortens the competition. If no room is left for the
/// competition, omits it and shortens the step.
fn name_within(competition: &str, step: &str, width: usize) -> String {
    let room = width.saturating_sub(step.chars().count() + 1);
    match room {
        0..4 => shortened(step, width),
        _ => format!("{}/{step}", shortened(competition, room)),
    }
}

/// Returns `name`, followed by as many of the first facts as fit into `width` characters.
fn fit_facts(name: &str, facts: &[String], width: usize) -> String {
    let mut line = name.to_owned();
    for (number, fact) in facts.iter().enumerate() {
        let gap = match (number, name) {
            (0, "") => "",
            (0, _) => "  ",
            _ => ", ",
        };
        if line.chars().count() + gap.len() + fact.chars().count() > width {
            break;
        }
        line.push_str(gap);
        line.push_str(fact);
    }
    line
}

const BAR_WIDTH: usize = 20;
/// Position of the bar at the end of the run.
const BAR_PARTS: u64 = 1000;

/// Parses a template. Uses the default style of indicatif if the template is invalid.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod screen_tests {
    use super::*;

    #[test]
    fn templates_parse() {
        for text in ["{bar:20} {msg}", "{msg}"] {
            assert!(ProgressStyle::with_template(text).is_ok());
        }
    }

    #[test]
    fn a_narrow_terminal_omits_facts_and_keeps_the_step() {
        let (id, step) = ("a-competition-with-a-long-name", "public/sample.csv");
        for (width, expected) in [
            (80, "a-competition-with-a-long-name/public/sample.csv"),
            (48, "a-competition-with-a-long-name/public/sample.csv"),
            (30, "a-competiti…/public/sample.csv"),
            (22, "a-c…/public/sample.csv"),
            (21, "public/sample.csv"),
            (10, "public/sa…"),
        ] {
            assert_eq!(name_within(id, step, width), expected, "{width}");
        }
        let facts = ["34 % of 1.20 GB".to_owned(), "210 MB/s".to_owned()];
        for (width, expected) in [
            (80, "a/b  34 % of 1.20 GB, 210 MB/s"),
            (30, "a/b  34 % of 1.20 GB, 210 MB/s"),
            (29, "a/b  34 % of 1.20 GB"),
            (19, "a/b"),
        ] {
            assert_eq!(fit_facts("a/b", &facts, width), expected, "{width}");
        }
    }
}
