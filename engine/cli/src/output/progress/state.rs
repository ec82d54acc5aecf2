//! Computes the progress of a run from the engine's events.

use std::collections::{BTreeMap, HashMap};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use parking_lot::Mutex;
use prep_app::{PUBLISH_STEP, PushProgress, StepWork};
use prep_core::{Event, Progress, StepOutcome, units};
use prep_remote::Link;
use prep_spec::joined;

use crate::output::printer::{MessageLevel, Printer, Ticker};
use crate::output::progress::fraction::{Fraction, StepBytes, StepName};
use crate::output::progress::{REDRAW_INTERVAL, fit_facts, terminal_width};

/// Maximum number of running steps that have their own line. The display only counts the others.
pub(super) const MAX_LINES: usize = 5;

pub(super) struct State {
    begun: Instant,
    /// Number of steps that may run.
    pub(super) steps: usize,
    /// Number of steps that have ended, without those that were stopped.
    pub(super) ended: usize,
    pub(super) running: BTreeMap<StepName, Running>,
    /// Steps that wait for another process, each with this process.
    waiting: BTreeMap<StepName, String>,
    pub(super) fraction: Fraction,
    competitions: HashMap<String, CompetitionProgress>,
    /// Bytes and files that ended steps have processed.
    bytes: u64,
    files: u64,
    /// When the rate was last computed, the bytes at that time, and the rate in bytes per second.
    rate: (Instant, u64, u64),
    remote: Option<Link>,
}

pub(super) struct Running {
    counters: Arc<Progress>,
    /// The bytes that the engine expected before the step started.
    estimated: u64,
    begun: Instant,
}

#[derive(Debug, Default, Clone)]
struct CompetitionProgress {
    /// Number of steps that may run.
    steps: usize,
    /// Number of steps that have not ended.
    remaining: usize,
    /// Number of steps that have run.
    ran: usize,
    failed: bool,
    stopped: bool,
    /// Whether the publication, which is the last step, succeeded.
    is_published: bool,
    /// Whether a line reported the end of the competition. Steps can end after that line, because the engine reruns a
    /// step if its result was lost from the cache.
    is_shown: bool,
    /// Start of the first step, and end of the last step so far.
    first: Option<Instant>,
    last: Option<Instant>,
}

impl State {
    /// Creates the state before the run. `work` contains the steps that may run.
    pub(super) fn new(work: &[StepWork], remote: Option<Link>) -> State {
        let mut competitions: HashMap<String, CompetitionProgress> = HashMap::new();
        for step in work {
            let competition = competitions.entry(step.competition.clone()).or_default();
            competition.steps += 1;
            competition.remaining += 1;
        }
        State {
            begun: Instant::now(),
            steps: work.len(),
            ended: 0,
            running: BTreeMap::new(),
            waiting: BTreeMap::new(),
            fraction: Fraction::new(work),
            competitions,
            bytes: 0,
            files: 0,
            rate: (Instant::now(), 0, 0),
            remote,
        }
    }

    /// Updates the state, and returns the lines to print. Without `report_starts`, no line reports the start of a competition.
    pub(super) fn apply(&mut self, event: &Event, report_starts: bool) -> Vec<String> {
        let mut lines = Vec::new();
        match event {
            Event::StepStarted {
                competition,
                step,
                progress,
                ..
            } => {
                let competition_progress =
                    self.competitions.entry(competition.clone()).or_default();
                if competition_progress.first.is_none() {
                    competition_progress.first = Some(Instant::now());
                    if report_starts {
                        lines.push(format!(
                            "{competition}: started, {}",
                            units::count(competition_progress.steps as u64, "step")
                        ));
                    }
                }
                let name = (competition.clone(), step.clone());
                self.waiting.remove(&name);
                let running = Running {
                    counters: progress.clone(),
                    estimated: self.fraction.start(&name),
                    begun: Instant::now(),
                };
                self.running.insert(name, running);
            }
            Event::StepWaiting {
                competition,
                step,
                holder,
            } => {
                let name = (competition.clone(), step.clone());
                let holder = holder.as_deref().unwrap_or("another process");
                self.waiting.insert(name, holder.to_owned());
            }
            Event::StepEnded {
                competition,
                step,
                kind,
                outcome,
                ..
            } => {
                // Steps that were stopped, or were never started, are not progress.
                let is_stopped = matches!(outcome, StepOutcome::Cancelled);
                self.ended += usize::from(!is_stopped);
                let name = (competition.clone(), step.clone());
                let mut bytes = 0;
                self.waiting.remove(&name);
                let running = self.running.remove(&name);
                // A step starts again if an input turns out to be damaged, but ends only once.
                let has_run = running.is_some();
                if let Some(running) = running {
                    bytes = running.counters.bytes.load(Ordering::Relaxed);
                    self.bytes += bytes;
                    self.files += running.counters.files.load(Ordering::Relaxed);
                }
                if !is_stopped {
                    self.fraction.end(&name, bytes);
                }
                let competition_progress =
                    self.competitions.entry(competition.clone()).or_default();
                competition_progress.remaining = competition_progress.remaining.saturating_sub(1);
                competition_progress.ran += usize::from(has_run);
                if let StepOutcome::Failed { .. } = outcome {
                    competition_progress.failed = true;
                    // The summary at the end of the run prints the cause.
                    lines.push(format!("{competition}/{step}: failed"));
                }
                competition_progress.stopped |= is_stopped;
                if competition_progress.first.is_some() {
                    competition_progress.last = Some(Instant::now());
                }
                let has_succeeded =
                    matches!(outcome, StepOutcome::Done { .. } | StepOutcome::Reused);
                competition_progress.is_published |= has_succeeded && *kind == PUBLISH_STEP;
                lines.extend(competition_progress.end_line(competition));
            }
        }
        lines
    }

    fn totals(&self) -> (u64, u64) {
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

    pub(super) fn line(&self) -> String {
        let running = self.running.iter().map(|((competition, step), one)| {
            let facts: Vec<String> = one.percentage().into_iter().chain(one.time()).collect();
            match facts.is_empty() {
                true => format!("{competition}/{step}"),
                false => format!("{competition}/{step} ({})", facts.join(", ")),
            }
        });
        let facts = self.facts().join(", ");
        match running.len() {
            0 => facts,
            _ => format!("{facts}; now {}", joined(running, MAX_LINES)),
        }
    }

    /// Returns for example `3 of 44 steps`, `1 of 4 competitions`, the fraction in percent, the remaining time, the
    /// numbers of bytes and files, the transferred bytes, and the elapsed time. If all steps wait for another process, the
    /// second fact is this process, and there is no remaining time.
    pub(super) fn facts(&self) -> Vec<String> {
        let steps = format!("{} of {} steps", self.ended.min(self.steps), self.steps);
        let mut facts = vec![steps];
        let waiting = self.waiting.iter().next();
        let waiting = waiting.filter(|_| self.running.is_empty());
        if let Some(((competition, step), holder)) = waiting {
            facts.push(format!("{competition}/{step} is waiting for {holder}"));
        }
        if self.competitions.len() > 1 {
            let ended = self.competitions.values();
            let ended = ended.filter(|one| one.remaining == 0 && !one.stopped);
            facts.push(format!(
                "{} of {} competitions",
                ended.count(),
                self.competitions.len()
            ));
        }
        facts.push(format!("{} %", (self.fraction.done() * 100.0) as u64));
        let left = self.fraction.time_left();
        let left = left.filter(|left| waiting.is_none() && left.as_secs() > 0);
        facts.extend(left.map(|left| format!("{} left", units::approximate_duration(left))));
        let (bytes, files) = self.totals();
        facts.extend(amounts(bytes, files, self.rate.2));
        facts.extend(self.remote.iter().flat_map(describe_transfer));
        facts.push(units::duration(self.begun.elapsed()));
        facts
    }

    /// Updates the fraction, and every few seconds the rate.
    pub(super) fn update_figures(&mut self) {
        self.fraction
            .update(self.running.values().map(Running::bytes));
        let ((since, before, _), (bytes, _)) = (self.rate, self.totals());
        if since.elapsed() >= RATE_INTERVAL {
            let rate = per_second(bytes.saturating_sub(before), since.elapsed());
            self.rate = (Instant::now(), bytes, rate);
        }
    }
}

impl Running {
    /// Returns the bytes so far, and the total. The total is an estimate until the step states it.
    fn bytes(&self) -> StepBytes {
        let done = self.counters.done_bytes();
        match self.counters.total_bytes.load(Ordering::Relaxed) {
            0 => StepBytes {
                done,
                total: self.estimated,
            },
            total => StepBytes {
                done: done.min(total),
                total,
            },
        }
    }

    /// Returns for example `34 % of 1.20 GB`. Returns `None` if the total is unknown.
    fn percentage(&self) -> Option<String> {
        let total = self.counters.total_bytes.load(Ordering::Relaxed);
        let bytes = self.counters.done_bytes();
        let bytes = u128::from(bytes.min(total));
        let percent = (bytes * 100).checked_div(u128::from(total))?;
        Some(format!("{percent} % of {}", units::bytes(total)))
    }

    /// Returns the time since the start of the step, if it is at least a second. The time also changes if the step reports no
    /// bytes.
    fn time(&self) -> Option<String> {
        let elapsed = self.begun.elapsed();
        (elapsed >= Duration::from_secs(1)).then(|| units::duration(elapsed))
    }

    /// Returns for example `34 % of 1.20 GB`, `210 MB/s`, `3 min left` and `1 min 30 s`. Omits unknown values and zeros.
    pub(super) fn facts(&self) -> Vec<String> {
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let bytes = self.counters.done_bytes();
        let total = load(&self.counters.total_bytes);
        let elapsed = self.begun.elapsed();
        let files = load(&self.counters.files);
        let mut facts = amounts(bytes, files, per_second(bytes, elapsed));
        if let Some(percentage) = self.percentage() {
            match bytes {
                0 => facts.insert(0, percentage),
                _ => facts[0] = percentage,
            }
        }
        if bytes > 0 && total > bytes {
            let left = elapsed.as_millis() * u128::from(total - bytes) / u128::from(bytes);
            let left = Duration::from_millis(u64::try_from(left).unwrap_or(u64::MAX));
            facts.push(format!("{} left", units::approximate_duration(left)));
        }
        facts.extend(self.time());
        facts
    }
}

fn per_second(bytes: u64, time: Duration) -> u64 {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
    bytes.saturating_mul(1000) / millis
}

/// Formats the number of bytes, the number of files, and the bytes per second. Omits zeros.
fn amounts(bytes: u64, files: u64, rate: u64) -> Vec<String> {
    let mut amounts = Vec::new();
    if bytes > 0 {
        amounts.push(units::bytes(bytes));
    }
    if files > 0 {
        amounts.push(units::count(files, "file"));
    }
    if rate > 0 {
        amounts.push(format!("{}/s", units::bytes(rate)));
    }
    amounts
}

impl CompetitionProgress {
    /// Returns the line that reports the end of the competition.
    /// Returns `None` if the competition still runs, was reported before, or ran no step.
    fn end_line(&mut self, competition: &str) -> Option<String> {
        let (first, last) = (self.first?, self.last?);
        let ended = self.is_published || (self.failed || self.stopped) && self.remaining == 0;
        if !ended || std::mem::replace(&mut self.is_shown, true) {
            return None;
        }
        let time = units::duration(last.duration_since(first));
        Some(if self.failed {
            format!("{competition}: failed after {time}")
        } else if self.stopped {
            format!("{competition}: stopped after {time}")
        } else {
            let steps = match self.ran < self.steps {
                true => format!("{} of {} steps", self.ran, self.steps),
                false => units::count(self.ran as u64, "step"),
            };
            format!("{competition}: done after {time}, {steps} run")
        })
    }
}

/// The rate of the whole run is the mean over this time.
const RATE_INTERVAL: Duration = Duration::from_secs(2);

/// Returns the bytes received from the remote and sent to the remote, without zeros.
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

/// Shows the progress of a push on stderr until the display is dropped: the competition, the percentage, the remaining time,
/// the transferred bytes, and the elapsed time. A terminal shows one line that changes. Other outputs get a line at each
/// interval of the printer.
pub struct TransferDisplay {
    ticker: Option<Ticker>,
    bar: Option<ProgressBar>,
}

impl TransferDisplay {
    pub fn new(
        printer: &Printer,
        link: &Link,
        progress: &Arc<Mutex<PushProgress>>,
    ) -> TransferDisplay {
        if printer.level == MessageLevel::Quiet {
            return TransferDisplay {
                ticker: None,
                bar: None,
            };
        }
        let is_terminal = std::io::stderr().is_terminal();
        let bar = is_terminal.then(ProgressBar::new_spinner);
        let interval = match is_terminal {
            true => REDRAW_INTERVAL,
            false => printer.line_interval,
        };
        let (printer, link, shown, begun) =
            (printer.clone(), link.clone(), bar.clone(), Instant::now());
        let (progress, mut fraction) = (progress.clone(), Fraction::new(&[]));
        let tick = move || {
            let progress = progress.lock().clone();
            let mut facts = push_facts(&progress, link.remote().settled(), &mut fraction);
            facts.extend(describe_transfer(&link));
            facts.push(units::duration(begun.elapsed()));
            match &shown {
                Some(bar) => {
                    let width = terminal_width().saturating_sub(SPINNER_WIDTH);
                    bar.set_message(fit_facts("", &facts, width));
                }
                None => printer.message(facts.join(", ")),
            }
        };
        TransferDisplay {
            ticker: Some(Ticker::start(interval, tick)),
            bar,
        }
    }
}

/// The width of the spinner and the space after it.
const SPINNER_WIDTH: usize = 2;

/// Returns for example `sending a-competition (2 of 5)`, `34 % of 1.20 GB` and `3 min left`. `settled` is the number of
/// bytes that are in the remote.
fn push_facts(progress: &PushProgress, settled: u64, fraction: &mut Fraction) -> Vec<String> {
    let total = progress.total_bytes;
    if progress.number == 0 {
        return vec!["planning".to_owned()];
    }
    let done = settled.min(total);
    fraction.update(std::iter::once(StepBytes { done, total }));
    let mut facts = vec![format!(
        "sending {} ({} of {})",
        progress.id, progress.number, progress.competitions
    )];
    let percent = (u128::from(done) * 100).checked_div(u128::from(total));
    facts.extend(percent.map(|percent| format!("{percent} % of {}", units::bytes(total))));
    let left = fraction.time_left().filter(|left| left.as_secs() > 0);
    facts.extend(left.map(|left| format!("{} left", units::approximate_duration(left))));
    facts
}

impl Drop for TransferDisplay {
    fn drop(&mut self) {
        drop(self.ticker.take());
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prep_core::{Failure, Reason};

    fn state(remaining: usize) -> State {
        let step = |number: usize| StepWork {
            competition: "a".to_owned(),
            step: number.to_string(),
            bytes: 0,
        };
        State::new(&(0..remaining).map(step).collect::<Vec<_>>(), None)
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
            target: None,
        }
    }

    #[test]
    fn lines_report_start_failure_and_end() {
        let mut state = state(2);
        let counters = Arc::new(Progress::default());
        assert_eq!(
            state.apply(&started("x", &counters), true),
            ["a: started, 2 steps"]
        );
        counters.add_bytes(5000);
        assert_eq!(state.totals(), (5000, 0));
        assert!(state.line().contains("0 of 2 steps, 0 %, 5.00 kB, "));
        assert!(state.line().ends_with("now a/x"));
        counters.set_total_bytes(15_000);
        assert!(state.line().ends_with("now a/x (33 % of 15.0 kB)"));
        // The elapsed time shows that a step runs which reports no bytes.
        let running = state.running.values_mut().next().unwrap();
        running.begun = Instant::now().checked_sub(Duration::from_secs(70)).unwrap();
        let line = state.line();
        assert!(
            line.ends_with("now a/x (33 % of 15.0 kB, 1 min 10 s)"),
            "{line}"
        );
        let failed = StepOutcome::Failed {
            failure: Failure::Input,
            message: "no bundle".into(),
        };
        assert_eq!(state.apply(&ended("x", failed), true), ["a/x: failed"]);
        assert_eq!(state.totals(), (5000, 0));
        let lines = state.apply(
            &ended(
                "y",
                StepOutcome::Skipped {
                    because: "x".into(),
                },
            ),
            true,
        );
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("a: failed after 0."), "{lines:?}");
    }

    #[test]
    fn a_run_that_only_waits_names_the_other_process() {
        let mut state = state(2);
        for (step, holder) in [("x", Some("process 7 of user ann")), ("y", None)] {
            let (competition, holder) = ("a".to_owned(), holder.map(str::to_owned));
            let step = step.to_owned();
            let waiting = Event::StepWaiting {
                competition,
                step,
                holder,
            };
            assert!(state.apply(&waiting, true).is_empty());
        }
        let line = state.line();
        assert!(
            line.starts_with("0 of 2 steps, a/x is waiting for process 7 of user ann, "),
            "{line}"
        );
        let counters = Arc::new(Progress::default());
        state.apply(&started("x", &counters), true);
        assert!(!state.line().contains("waiting"));
        state.apply(&ended("x", StepOutcome::Done { millis: 1 }), true);
        assert!(
            state
                .line()
                .contains("a/y is waiting for another process, ")
        );
        state.apply(&ended("y", StepOutcome::Reused), true);
        assert!(!state.line().contains("waiting"));
    }

    /// The publication starts again after the engine repaired a damaged object.
    #[test]
    fn a_step_that_starts_twice_is_one_step() {
        let mut state = state(1);
        let publish = |outcome| Event::StepEnded {
            competition: "a".into(),
            step: "publish".into(),
            kind: PUBLISH_STEP,
            outcome,
            target: None,
        };
        for _ in 0..2 {
            state.apply(&started("publish", &Arc::new(Progress::default())), true);
        }
        let lines = state.apply(&publish(StepOutcome::Done { millis: 1 }), true);
        assert!(lines[0].ends_with(", 1 step run"), "{lines:?}");
    }

    /// All lines count the steps that may run.
    #[test]
    fn a_reused_step_does_not_change_the_number_of_steps() {
        let mut state = state(2);
        assert!(
            state
                .apply(&ended("x", StepOutcome::Reused), true)
                .is_empty()
        );
        let start = started("publish", &Arc::new(Progress::default()));
        assert_eq!(state.apply(&start, true), ["a: started, 2 steps"]);
        assert_eq!(state.facts()[0], "1 of 2 steps");
        let publish = Event::StepEnded {
            competition: "a".into(),
            step: "publish".into(),
            kind: PUBLISH_STEP,
            outcome: StepOutcome::Done { millis: 1 },
            target: None,
        };
        let lines = state.apply(&publish, true);
        assert!(lines[0].ends_with(", 1 of 2 steps run"), "{lines:?}");
    }

    #[test]
    fn cancelled_steps_are_reported_as_stopped() {
        let mut state = state(2);
        let counters = Arc::new(Progress::default());
        state.apply(&started("x", &counters), true);
        for step in ["x", "y"] {
            let lines = state.apply(&ended(step, StepOutcome::Cancelled), true);
            let stopped = lines
                .iter()
                .any(|line| line.starts_with("a: stopped after"));
            assert_eq!(stopped, step == "y", "{lines:?}");
        }
        assert_eq!(state.facts()[..2], ["0 of 2 steps", "0 %"]);
    }

    #[test]
    fn a_push_shows_its_competition_and_percentage() {
        let mut fraction = Fraction::new(&[]);
        let mut progress = PushProgress::default();
        assert_eq!(push_facts(&progress, 0, &mut fraction), ["planning"]);
        (progress.number, progress.competitions) = (2, 5);
        progress.id = "a".to_owned();
        assert_eq!(
            push_facts(&progress, 0, &mut fraction),
            ["sending a (2 of 5)"]
        );
        progress.total_bytes = 2000;
        for (settled, expected) in [(500, "25 % of 2.00 kB"), (3000, "100 % of 2.00 kB")] {
            assert_eq!(push_facts(&progress, settled, &mut fraction)[1], expected);
        }
    }

    /// The step of a single large object counts its bytes as they arrive from the remote.
    #[test]
    fn bytes_that_arrive_count_as_progress() {
        let mut state = state(1);
        let counters = Arc::new(Progress::default());
        state.apply(&started("x", &counters), true);
        counters.set_total_bytes(1 << 30);
        counters.arriving.store(1 << 29, Ordering::Relaxed);
        state.update_figures();
        let line = state.line();
        assert!(line.contains(", 49 %, "), "{line}");
        assert!(line.contains("now a/x (50 % of 1.07 GB"), "{line}");
    }

    #[test]
    fn zeros_are_not_shown() {
        let running = |bytes, total, files| {
            let counters = Progress::default();
            counters.add_bytes(bytes);
            counters.set_total_bytes(total);
            counters.files.store(files, Ordering::Relaxed);
            Running {
                counters: Arc::new(counters),
                estimated: 0,
                begun: Instant::now(),
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
        let mut silent = running(0, 0, 0);
        silent.begun = Instant::now().checked_sub(Duration::from_secs(70)).unwrap();
        assert_eq!(silent.facts(), ["1 min 10 s"]);
    }
}
