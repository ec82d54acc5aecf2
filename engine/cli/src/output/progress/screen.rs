//! The place of the progress: a line for each running step on a terminal, a line now and then elsewhere, or nowhere.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use terminal_size::{Width, terminal_size_of};

use super::state::State;
use super::{MAX_LINES, lock};
use crate::output::printer::{MessageLevel, Printer, printable};
use crate::output::table::shortened;

/// Characters of a line if the width of the terminal is unknown.
const USUAL_WIDTH: usize = 80;
const REDRAW: Duration = Duration::from_millis(100);
const LINE_EVERY: Duration = Duration::from_secs(10);

pub(super) enum Screen {
    Bars(Bars),
    Lines,
    Silent,
}

/// The lines of a terminal.
pub(super) struct Bars {
    multi: MultiProgress,
    total: ProgressBar,
    /// By competition and step.
    steps: Mutex<BTreeMap<(String, String), ProgressBar>>,
}

impl Screen {
    /// Makes the screen for a run of `steps` steps.
    pub(super) fn new(printer: &Printer, steps: usize) -> Screen {
        if printer.level == MessageLevel::Quiet || steps == 0 {
            return Screen::Silent;
        }
        if !std::io::stderr().is_terminal() {
            return Screen::Lines;
        }
        let multi = MultiProgress::new();
        let total = ProgressBar::new(steps as u64).with_style(style("{bar:20} {msg}"));
        Screen::Bars(Bars {
            total: multi.add(total),
            multi,
            steps: Mutex::default(),
        })
    }

    /// Time between two drawings; none if nothing is drawn.
    pub(super) fn interval(&self) -> Option<Duration> {
        match self {
            Screen::Bars(_) => Some(REDRAW),
            Screen::Lines => Some(LINE_EVERY),
            Screen::Silent => None,
        }
    }

    /// Brings the screen up to date.
    pub(super) fn draw(&self, state: &Mutex<State>) {
        match self {
            Screen::Bars(bars) => bars.draw(&lock(state)),
            Screen::Lines => {
                let line = lock(state).line();
                self.line(&line);
            }
            Screen::Silent => {}
        }
    }

    /// Shows a line, above the bars if there are some.
    pub(super) fn line(&self, text: &str) {
        let text = &printable(text);
        match self {
            Screen::Bars(bars) => {
                let _ = bars.multi.println(text);
            }
            Screen::Lines => anstream::eprintln!("{text}"),
            Screen::Silent => {}
        }
    }

    /// Removes the bars.
    pub(super) fn clear(&self) {
        if let Screen::Bars(bars) = self {
            let _ = bars.multi.clear();
        }
    }
}

impl Bars {
    /// Only here do steps get a bar, so short steps do not flicker.
    fn draw(&self, state: &State) {
        let width = terminal_size_of(std::io::stderr()).map(|(Width(width), _)| width);
        // The last column stays free: some terminals wrap a line that fills it.
        let width = width.map_or(USUAL_WIDTH, usize::from).saturating_sub(1);
        self.total.set_position(state.ended as u64);
        let facts = fitted("", &state.facts(), width.saturating_sub(BAR + 1));
        self.total.set_message(facts);
        let mut bars = lock(&self.steps);
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
                bar.set_message(fitted(&format!("  {name}"), &running.facts(), width));
            }
        }
    }
}

/// `competition/step` in at most `width` characters: the step stays whole for as long as that is possible.
fn name_within(competition: &str, step: &str, width: usize) -> String {
    let room = width.saturating_sub(step.chars().count() + 1);
    match room {
        0..4 => shortened(step, width),
        _ => format!("{}/{step}", shortened(competition, room)),
    }
}

/// A name and as many of the facts behind it as `width` characters hold.
fn fitted(name: &str, facts: &[String], width: usize) -> String {
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

/// Characters of the bar of all steps.
const BAR: usize = 20;

/// The templates here are fixed; should one not parse, indicatif's own is as good.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_parse() {
        for text in ["{bar:20} {msg}", "{msg}"] {
            assert!(ProgressStyle::with_template(text).is_ok());
        }
    }

    #[test]
    fn on_a_narrow_terminal_the_step_is_still_named() {
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
            assert_eq!(fitted("a/b", &facts, width), expected, "{width}");
        }
    }
}
