//! What is going on, on stderr: a line for each running step on a terminal, a line now and then elsewhere. Reads the
//! engine's events.
//!
//! The name of a step is what one wants to see: on a narrow terminal amounts go first, then parts of the competition's
//! name.

use std::collections::{BTreeMap, HashMap};
use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use prep_app::LAST;
use prep_core::{Event, Progress, Reporter, StepOutcome, units};
use prep_remote::Link;
use terminal_size::{Width, terminal_size_of};

use crate::output::moving::moved;
use crate::output::printer::{Level, Printer, shown};
use crate::output::table::shortened;

/// Lines of running steps; further ones are only counted.
const MAX_LINES: usize = 5;
/// Characters of a line where the terminal does not tell its width.
const USUAL_WIDTH: usize = 80;
const REDRAW: Duration = Duration::from_millis(100);
const LINE_EVERY: Duration = Duration::from_secs(10);

/// A reporter with a thread that redraws. Stops when it is dropped.
pub struct Display {
    shared: Arc<Shared>,
    ticker: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    stopped: Mutex<bool>,
    wake: Condvar,
    screen: Screen,
}

enum Screen {
    Bars {
        multi: MultiProgress,
        total: ProgressBar,
    },
    Lines,
    Silent,
}

struct State {
    begun: Instant,
    steps: usize,
    ended: usize,
    running: BTreeMap<(String, String), Running>,
    competitions: HashMap<String, Clock>,
    /// Of steps that have ended.
    bytes: u64,
    files: u64,
    remote: Option<Link>,
}

struct Running {
    counters: Arc<Progress>,
    begun: Instant,
    bar: Option<ProgressBar>,
}

/// A competition's steps and time.
#[derive(Debug, Default, Clone)]
struct Clock {
    /// Steps that have not ended.
    open: usize,
    ran: usize,
    failed: bool,
    /// A step was kept from ending.
    stopped: bool,
    /// Its last step has ended well.
    through: bool,
    /// Its end was told. Steps may end once more afterwards, when a lost object had to be made again.
    told: bool,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Display {
    /// `work`: how many steps of each competition may run. What moves to and from `remote` is told, too.
    pub fn new(printer: &Printer, work: &HashMap<String, usize>, remote: Option<Link>) -> Display {
        let steps = work.values().sum();
        let screen = if printer.level == Level::Quiet || steps == 0 {
            Screen::Silent
        } else if std::io::stderr().is_terminal() {
            let multi = MultiProgress::new();
            let total = multi.add(ProgressBar::new(steps as u64).with_style(total_style()));
            Screen::Bars { multi, total }
        } else {
            Screen::Lines
        };
        let every = match screen {
            Screen::Bars { .. } => Some(REDRAW),
            Screen::Lines => Some(LINE_EVERY),
            Screen::Silent => None,
        };
        let clock = |open: &usize| Clock {
            open: *open,
            ..Clock::default()
        };
        let state = State {
            begun: Instant::now(),
            steps,
            ended: 0,
            running: BTreeMap::new(),
            competitions: work
                .iter()
                .map(|(id, open)| (id.clone(), clock(open)))
                .collect(),
            bytes: 0,
            files: 0,
            remote,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            stopped: Mutex::new(false),
            wake: Condvar::new(),
            screen,
        });
        let ticker = every.and_then(|every| {
            let shared = shared.clone();
            // Without a thread nothing is redrawn between two events.
            let thread = std::thread::Builder::new();
            thread.spawn(move || shared.tick(every)).ok()
        });
        Display { shared, ticker }
    }

    /// A reader of events.
    pub fn reporter(&self) -> Arc<dyn Reporter> {
        self.shared.clone()
    }

    /// Shows a line above the bars.
    pub fn notice(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let shared = self.shared.clone();
        move |text| shared.line(text)
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        *held(&self.shared.stopped) = true;
        self.shared.wake.notify_all();
        if let Some(ticker) = self.ticker.take() {
            let _ = ticker.join();
        }
        if let Screen::Bars { multi, .. } = &self.shared.screen {
            let _ = multi.clear();
        }
    }
}

/// Locks a mutex; its data is sound even if a holder panicked.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reporter for Shared {
    fn event(&self, event: &Event) {
        let lines = held(&self.state).apply(event, &self.screen);
        for line in lines {
            self.line(&line);
        }
    }
}

impl Shared {
    fn tick(&self, every: Duration) {
        let mut stopped = held(&self.stopped);
        while !*stopped {
            stopped = self
                .wake
                .wait_timeout(stopped, every)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            if *stopped {
                return;
            }
            let mut state = held(&self.state);
            match &self.screen {
                Screen::Bars { multi, total } => state.draw(multi, total),
                Screen::Lines => {
                    let line = state.line();
                    drop(state);
                    self.line(&line);
                }
                Screen::Silent => {}
            }
        }
    }

    fn line(&self, text: &str) {
        let text = &shown(text);
        match &self.screen {
            Screen::Bars { multi, .. } => {
                let _ = multi.println(text);
            }
            Screen::Lines => anstream::eprintln!("{text}"),
            Screen::Silent => {}
        }
    }
}

impl State {
    /// Takes in an event. Returns what is worth a line.
    fn apply(&mut self, event: &Event, screen: &Screen) -> Vec<String> {
        let mut lines = Vec::new();
        match event {
            Event::StepStarted {
                competition,
                step,
                progress,
                ..
            } => {
                let clock = self.competitions.entry(competition.clone()).or_default();
                clock.ran += 1;
                if clock.first.is_none() {
                    clock.first = Some(Instant::now());
                    if matches!(screen, Screen::Lines) {
                        lines.push(format!(
                            "{competition}: begins, {}",
                            units::count(clock.open as u64, "step")
                        ));
                    }
                }
                let running = Running {
                    counters: progress.clone(),
                    begun: Instant::now(),
                    bar: None,
                };
                self.running
                    .insert((competition.clone(), step.clone()), running);
            }
            Event::StepEnded {
                competition,
                step,
                kind,
                outcome,
            } => {
                self.ended += 1;
                if let Some(running) = self.running.remove(&(competition.clone(), step.clone())) {
                    self.bytes += running.counters.bytes.load(Ordering::Relaxed);
                    self.files += running.counters.files.load(Ordering::Relaxed);
                    if let (Some(bar), Screen::Bars { multi, .. }) = (running.bar, screen) {
                        multi.remove(&bar);
                    }
                }
                let clock = self.competitions.entry(competition.clone()).or_default();
                clock.open = clock.open.saturating_sub(1);
                if let StepOutcome::Failed { .. } = outcome {
                    clock.failed = true;
                    // The cause is told once, at the end, where it is looked for.
                    lines.push(format!("{competition}/{step}: failed"));
                }
                clock.stopped |= matches!(outcome, StepOutcome::Cancelled);
                if clock.first.is_some() {
                    clock.last = Some(Instant::now());
                }
                let well = matches!(outcome, StepOutcome::Done { .. } | StepOutcome::Reused);
                clock.through |= well && *kind == LAST;
                lines.extend(clock.end_line(competition));
            }
            Event::Started { .. } | Event::Finished => {}
        }
        lines
    }

    fn bars(&self) -> usize {
        self.running
            .values()
            .filter(|running| running.bar.is_some())
            .count()
    }

    /// Bytes and files so far.
    fn done(&self) -> (u64, u64) {
        let sum = |counter: fn(&Progress) -> u64| {
            self.running
                .values()
                .map(|one| counter(&one.counters))
                .sum::<u64>()
        };
        let bytes = sum(|counters| counters.bytes.load(Ordering::Relaxed));
        let files = sum(|counters| counters.files.load(Ordering::Relaxed));
        (self.bytes + bytes, self.files + files)
    }

    /// `3.4 GB`, `1204 files`, `210 MB/s`; nothing that is zero.
    fn amounts(&self) -> Vec<String> {
        let (bytes, files) = self.done();
        amounts(bytes, files, self.begun.elapsed())
    }

    fn line(&self) -> String {
        let running: Vec<String> = self
            .running
            .iter()
            .take(MAX_LINES)
            .map(|((competition, step), one)| format!("{competition}/{step}{}", one.share()))
            .collect();
        let more = self.running.len() - running.len();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        format!(
            "{}; now {}{more}",
            self.facts().join(", "),
            running.join(", ")
        )
    }

    /// How far everything is: `3 of 44 steps`, amounts, time.
    fn facts(&self) -> Vec<String> {
        let steps = format!("{} of {} steps", self.ended.min(self.steps), self.steps);
        let mut facts = vec![steps];
        facts.extend(self.amounts());
        facts.extend(self.remote.iter().flat_map(moved));
        facts.push(units::duration(self.begun.elapsed()));
        facts
    }

    /// Brings the lines up to date. Only here do steps get one, so short steps do not flicker.
    fn draw(&mut self, multi: &MultiProgress, total: &ProgressBar) {
        let width = terminal_size_of(std::io::stderr()).map(|(Width(width), _)| width);
        // The last column stays free: some terminals wrap a line that fills it.
        let width = width.map_or(USUAL_WIDTH, usize::from).saturating_sub(1);
        total.set_position(self.ended as u64);
        total.set_message(fitted("", &self.facts(), width.saturating_sub(BAR + 1)));
        let mut free = MAX_LINES.saturating_sub(self.bars());
        for ((competition, step), running) in &mut self.running {
            if running.bar.is_none() && free > 0 {
                let bar = ProgressBar::no_length().with_style(style("{msg}"));
                running.bar = Some(multi.add(bar));
                free -= 1;
            }
            if let Some(bar) = &running.bar {
                let name = format!("  {}", name_within(competition, step, width - 2));
                bar.set_message(fitted(&name, &running.facts(), width));
            }
        }
    }
}

impl Running {
    /// ` (34 % of 1.20 GB)`; nothing where the sum is not known.
    fn share(&self) -> String {
        let total = self.counters.total_bytes.load(Ordering::Relaxed);
        let bytes = self.counters.bytes.load(Ordering::Relaxed);
        match total {
            0 => String::new(),
            total => {
                let percent = u128::from(bytes) * 100 / u128::from(total);
                format!(" ({percent} % of {})", units::bytes(total))
            }
        }
    }

    /// `34 % of 1.20 GB`, `210 MB/s`, `3 min left`: what is known and not zero.
    fn facts(&self) -> Vec<String> {
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let (bytes, total) = (load(&self.counters.bytes), load(&self.counters.total_bytes));
        let elapsed = self.begun.elapsed();
        let mut facts = amounts(bytes, load(&self.counters.files), elapsed);
        if total > 0 {
            let percent = u128::from(bytes) * 100 / u128::from(total);
            let share = format!("{percent} % of {}", units::bytes(total));
            match bytes {
                0 => facts.insert(0, share),
                _ => facts[0] = share,
            }
        }
        if bytes > 0 && total > bytes {
            let left = elapsed.as_millis() * u128::from(total - bytes) / u128::from(bytes);
            let left = Duration::from_millis(u64::try_from(left).unwrap_or(u64::MAX));
            facts.push(format!("{} left", units::about(left)));
        }
        facts
    }
}

/// Bytes, files and bytes per second, those that are not zero.
fn amounts(bytes: u64, files: u64, time: Duration) -> Vec<String> {
    let mut amounts = Vec::new();
    if bytes > 0 {
        amounts.push(units::bytes(bytes));
    }
    if files > 0 {
        amounts.push(units::count(files, "file"));
    }
    if bytes > 0 {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
        let rate = bytes.saturating_mul(1000) / millis;
        amounts.push(format!("{}/s", units::bytes(rate)));
    }
    amounts
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

impl Clock {
    /// The line that tells that a competition is through, if it is now and did anything.
    fn end_line(&mut self, competition: &str) -> Option<String> {
        let (first, last) = (self.first?, self.last?);
        let ended = self.through || (self.failed || self.stopped) && self.open == 0;
        if !ended || std::mem::replace(&mut self.told, true) {
            return None;
        }
        let time = units::duration(last.duration_since(first));
        Some(if self.failed {
            format!("{competition}: failed after {time}")
        } else if self.stopped {
            format!("{competition}: stopped after {time}")
        } else {
            let steps = units::count(self.ran as u64, "step");
            format!("{competition}: done after {time}, {steps} run")
        })
    }
}

/// Characters of the bar of all steps.
const BAR: usize = 20;

fn total_style() -> ProgressStyle {
    style("{bar:20} {msg}")
}

/// The templates above are fixed; should one not parse, indicatif's own is as good.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prep_core::{Failure, Reason};

    fn state(open: usize) -> State {
        State {
            begun: Instant::now(),
            steps: open,
            ended: 0,
            running: BTreeMap::new(),
            competitions: HashMap::from([(
                "a".to_owned(),
                Clock {
                    open,
                    ..Clock::default()
                },
            )]),
            bytes: 0,
            files: 0,
            remote: None,
        }
    }

    fn started(step: &str, counters: &Arc<Progress>) -> Event {
        Event::StepStarted {
            competition: "a".into(),
            step: step.into(),
            kind: "csv",
            reason: Reason::FirstRun,
            progress: counters.clone(),
        }
    }

    fn ended(step: &str, outcome: StepOutcome) -> Event {
        Event::StepEnded {
            competition: "a".into(),
            step: step.into(),
            kind: "csv",
            outcome,
        }
    }

    #[test]
    fn lines_tell_of_begin_failure_and_end() {
        let mut state = state(2);
        let counters = Arc::new(Progress::default());
        assert_eq!(
            state.apply(&started("x", &counters), &Screen::Lines),
            ["a: begins, 2 steps"]
        );
        counters.add_bytes(5000);
        assert_eq!(state.done(), (5000, 0));
        assert!(state.line().contains("0 of 2 steps, 5.00 kB, "));
        assert!(state.line().ends_with("now a/x"));
        counters.set_total_bytes(15_000);
        assert!(state.line().ends_with("now a/x (33 % of 15.0 kB)"));
        let failed = StepOutcome::Failed {
            failure: Failure::Input,
            message: "no bundle".into(),
        };
        assert_eq!(
            state.apply(&ended("x", failed), &Screen::Lines),
            ["a/x: failed"]
        );
        assert_eq!(state.done(), (5000, 0));
        let lines = state.apply(
            &ended(
                "y",
                StepOutcome::Skipped {
                    because: "x".into(),
                },
            ),
            &Screen::Lines,
        );
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("a: failed after 0."), "{lines:?}");
    }

    #[test]
    fn what_was_stopped_did_not_fail() {
        let mut state = state(2);
        let counters = Arc::new(Progress::default());
        state.apply(&started("x", &counters), &Screen::Lines);
        for step in ["x", "y"] {
            let lines = state.apply(&ended(step, StepOutcome::Cancelled), &Screen::Lines);
            let stopped = lines
                .iter()
                .any(|line| line.starts_with("a: stopped after"));
            assert_eq!(stopped, step == "y", "{lines:?}");
        }
    }

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

    #[test]
    fn what_is_zero_is_not_shown() {
        let running = |bytes, total, files| {
            let counters = Progress::default();
            counters.add_bytes(bytes);
            counters.set_total_bytes(total);
            counters.files.store(files, Ordering::Relaxed);
            Running {
                counters: Arc::new(counters),
                begun: Instant::now(),
                bar: None,
            }
        };
        assert_eq!(running(0, 0, 0).facts(), [""; 0]);
        assert_eq!(running(0, 2000, 0).facts(), ["0 % of 2.00 kB"]);
        assert_eq!(running(0, 0, 1).facts(), ["1 file"]);
        let facts = running(1000, 4000, 2).facts();
        assert_eq!(facts[..2], ["25 % of 4.00 kB", "2 files"]);
        assert!(
            facts[2].ends_with("/s") && facts[3].ends_with(" left"),
            "{facts:?}"
        );
    }
}
