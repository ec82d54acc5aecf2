//! What is going on, on stderr: bars on a terminal, a line now and then elsewhere. Reads the engine's events, and keeps
//! the time that each competition took.

use std::collections::{BTreeMap, HashMap};
use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use prep_core::{Event, Progress, Reporter, StepOutcome};

use crate::printer::{Level, Printer};
use crate::units;

/// Bars of running steps; further ones are only counted.
const MAX_BARS: usize = 5;
/// The kind of step that ends a competition.
pub const LAST: &str = "publish";
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
}

struct Running {
    counters: Arc<Progress>,
    bar: Option<ProgressBar>,
}

/// A competition's steps and time.
#[derive(Debug, Default, Clone)]
struct Clock {
    /// Steps that have not ended.
    open: usize,
    ran: usize,
    failed: bool,
    /// Its last step has ended well.
    through: bool,
    /// Its end was told. Steps may end once more afterwards, when a lost object had to be made again.
    told: bool,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Display {
    /// `work`: how many steps of each competition may run.
    pub fn new(printer: &Printer, work: &HashMap<String, usize>) -> Display {
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
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            stopped: Mutex::new(false),
            wake: Condvar::new(),
            screen,
        });
        let ticker = every.map(|every| {
            let shared = shared.clone();
            std::thread::spawn(move || shared.tick(every))
        });
        Display { shared, ticker }
    }

    /// A reader of events.
    pub fn reporter(&self) -> Arc<dyn Reporter> {
        self.shared.clone()
    }

    /// Time from a competition's first step to its last, zero if none ran.
    pub fn time_of(&self, competition: &str) -> Duration {
        let state = held(&self.shared.state);
        let clock = state.competitions.get(competition);
        clock
            .and_then(|clock| Some(clock.last?.duration_since(clock.first?)))
            .unwrap_or_default()
    }

    /// Shows a line above the bars.
    pub fn notice(&self) -> impl Fn(&str) + Send + use<> {
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
                clock.failed |= matches!(outcome, StepOutcome::Cancelled);
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

    /// `3.4 GB, 1204 files, 210 MB/s`.
    fn amounts(&self) -> String {
        let (bytes, files) = self.done();
        let millis = u64::try_from(self.begun.elapsed().as_millis())
            .unwrap_or(u64::MAX)
            .max(1);
        let rate = units::bytes(bytes.saturating_mul(1000) / millis);
        format!(
            "{}, {}, {rate}/s",
            units::bytes(bytes),
            units::count(files, "file")
        )
    }

    fn line(&self) -> String {
        let running: Vec<String> = self
            .running
            .iter()
            .take(MAX_BARS)
            .map(|((competition, step), one)| format!("{competition}/{step}{}", one.share()))
            .collect();
        let more = self.running.len() - running.len();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let time = units::duration(self.begun.elapsed());
        format!(
            "{} of {} steps, {}, {time}; now {}{more}",
            self.ended.min(self.steps),
            self.steps,
            self.amounts(),
            running.join(", ")
        )
    }

    /// Brings the bars up to date. Only here do steps get one, so short steps do not flicker.
    fn draw(&mut self, multi: &MultiProgress, total: &ProgressBar) {
        total.set_position(self.ended as u64);
        total.set_message(self.amounts());
        let mut free = MAX_BARS.saturating_sub(self.bars());
        for ((competition, step), running) in &mut self.running {
            if running.bar.is_none() && free > 0 {
                let bar = ProgressBar::no_length().with_style(step_style(false));
                let bar = multi.add(bar.with_prefix(format!("{competition}/{step}")));
                running.bar = Some(bar);
                free -= 1;
            }
            running.draw();
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

    fn draw(&self) {
        let Some(bar) = &self.bar else { return };
        let length = self.counters.total_bytes.load(Ordering::Relaxed);
        if length > 0 && bar.length().is_none() {
            bar.set_style(step_style(true));
            bar.set_length(length);
        }
        bar.set_position(self.counters.bytes.load(Ordering::Relaxed));
        let files = self.counters.files.load(Ordering::Relaxed);
        bar.set_message(match files {
            0 => String::new(),
            files => units::count(files, "file"),
        });
    }
}

impl Clock {
    /// The line that tells that a competition is through, if it is now and did anything.
    fn end_line(&mut self, competition: &str) -> Option<String> {
        let (first, last) = (self.first?, self.last?);
        let ended = self.through || self.failed && self.open == 0;
        if !ended || std::mem::replace(&mut self.told, true) {
            return None;
        }
        let time = units::duration(last.duration_since(first));
        Some(if self.failed {
            format!("{competition}: failed after {time}")
        } else {
            let steps = units::count(self.ran as u64, "step");
            format!("{competition}: done after {time}, {steps} run")
        })
    }
}

fn total_style() -> ProgressStyle {
    style("{bar:24} {pos}/{len} steps  {msg}  {elapsed}")
}

fn step_style(has_length: bool) -> ProgressStyle {
    style(if has_length {
        "  {prefix:40!} {bar:16} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {msg} {eta} left"
    } else {
        "  {prefix:40!} {spinner} {decimal_bytes} {decimal_bytes_per_sec} {msg}"
    })
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
        assert!(state.line().contains("0 of 2 steps, 5.00 kB"));
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
        assert!(lines[0].starts_with("a: failed after 0.00 s"), "{lines:?}");
    }

    #[test]
    fn templates_parse() {
        for template in [true, false] {
            step_style(template);
        }
        for text in [
            "{bar:24} {pos}/{len} steps  {msg}  {elapsed}",
            "  {prefix:40!} {spinner} {decimal_bytes}",
        ] {
            assert!(ProgressStyle::with_template(text).is_ok());
        }
    }
}
