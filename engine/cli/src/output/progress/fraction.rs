//! Estimates how much of a run is done, and how long the rest takes.
//!
//! The work of a step is its number of bytes plus a constant.
//! Before a step starts, its bytes are an estimate (see `StepWork`). A running step reports its bytes.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use prep_app::StepWork;

/// The constant part of a step's work, in bytes. Starting and ending a step takes about as long as processing this number
/// of bytes.
const STEP_BYTES: u64 = 4 << 20;
/// The display shows the remaining time only after this time and this fraction of the run.
const MIN_TIME: Duration = Duration::from_secs(2);
const MIN_FRACTION: f64 = 0.01;

pub(super) type StepName = (String, String);

pub(super) struct Fraction {
    /// The estimated bytes of steps that have not started.
    waiting: HashMap<StepName, u64>,
    /// The bytes of ended steps, including `STEP_BYTES` per step.
    ended: u64,
    /// The highest fraction so far. The display shows it, so a step with more bytes than estimated does not lower the
    /// displayed value.
    highest: f64,
    /// When the first bytes were reported, and the fraction at that time.
    /// An interrupted download that continues begins with a fraction above zero.
    first: Option<(Instant, f64)>,
    /// When the fraction last rose.
    rose: Instant,
}

/// A running step: the bytes so far, and all expected bytes.
pub(super) struct StepBytes {
    pub done: u64,
    pub total: u64,
}

impl Fraction {
    pub fn new(work: &[StepWork]) -> Fraction {
        let name = |step: &StepWork| (step.competition.clone(), step.step.clone());
        Fraction {
            waiting: work.iter().map(|step| (name(step), step.bytes)).collect(),
            ended: 0,
            highest: 0.0,
            first: None,
            rose: Instant::now(),
        }
    }

    /// Records that a step starts. Returns the estimated bytes of the step.
    pub fn start(&mut self, step: &StepName) -> u64 {
        self.waiting.remove(step).unwrap_or_default()
    }

    pub fn end(&mut self, step: &StepName, bytes: u64) {
        self.waiting.remove(step);
        self.ended += bytes + STEP_BYTES;
    }

    /// Computes the fraction, which is at most 1, from the bytes of the running steps.
    pub fn update(&mut self, running: impl Iterator<Item = StepBytes>) {
        let (mut done, mut left) = (self.ended, 0);
        for step in running {
            let total = step.total.max(step.done);
            done += step.done;
            left += total - step.done + STEP_BYTES;
        }
        left += self
            .waiting
            .values()
            .map(|bytes| bytes + STEP_BYTES)
            .sum::<u64>();
        if done + left > 0 {
            let fraction = done as f64 / (done + left) as f64;
            if fraction > self.highest {
                (self.highest, self.rose) = (fraction, Instant::now());
            }
        }
        if done > 0 {
            self.first.get_or_insert((Instant::now(), self.highest));
        }
    }

    pub fn done(&self) -> f64 {
        self.highest
    }

    /// Returns the remaining time at the speed so far. Returns `None` until both `MIN_TIME` and `MIN_FRACTION` are
    /// reached.
    ///
    /// While the fraction does not rise, the time falls like a clock. When it has fallen to zero, the result is `None`,
    /// because the time of a step that reports no bytes is unknown.
    pub fn time_left(&self) -> Option<Duration> {
        let (begun, before) = self.first?;
        let (elapsed, done) = (self.rose.duration_since(begun), self.highest - before);
        if elapsed < MIN_TIME || done < MIN_FRACTION {
            return None;
        }
        let left = elapsed.as_secs_f64() * (1.0 - self.highest) / done;
        let left = Duration::try_from_secs_f64(left).ok()?;
        left.checked_sub(self.rose.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(step: &str, bytes: u64) -> StepWork {
        StepWork {
            competition: "a".to_owned(),
            step: step.to_owned(),
            bytes,
        }
    }

    fn running(done: u64, total: u64) -> impl Iterator<Item = StepBytes> {
        [StepBytes { done, total }].into_iter()
    }

    /// A competition with many files needs most of its time for its publication, which is a single step.
    #[test]
    fn bytes_count_more_than_steps() {
        let mut work: Vec<StepWork> = (0..100)
            .map(|number| step(&number.to_string(), 0))
            .collect();
        work.push(step("publish", 100 << 30));
        let mut fraction = Fraction::new(&work);
        for step in &work[..100] {
            let name = ("a".to_owned(), step.step.clone());
            fraction.start(&name);
            fraction.end(&name, 0);
        }
        fraction.update(std::iter::empty());
        assert!(fraction.done() < 0.01, "{}", fraction.done());
        fraction.start(&("a".to_owned(), "publish".to_owned()));
        fraction.update(running(50 << 30, 100 << 30));
        assert!((0.4..0.6).contains(&fraction.done()), "{}", fraction.done());
        fraction.end(&("a".to_owned(), "publish".to_owned()), 100 << 30);
        fraction.update(std::iter::empty());
        assert_eq!(fraction.done(), 1.0);
    }

    #[test]
    fn the_fraction_never_falls_and_never_exceeds_the_whole() {
        let mut fraction = Fraction::new(&[step("x", 10 << 30), step("y", 0)]);
        fraction.start(&("a".to_owned(), "x".to_owned()));
        let mut before = 0.0;
        for (done, total) in [
            (0, 0),
            (5 << 30, 10 << 30),
            (6 << 30, 90 << 30),
            (99 << 30, 10 << 30),
            (u64::MAX >> 8, 0),
        ] {
            fraction.update(running(done, total));
            assert!(
                fraction.done() >= before && fraction.done() <= 1.0,
                "{done} of {total}"
            );
            before = fraction.done();
        }
    }

    #[test]
    fn the_remaining_time_falls_while_a_step_reports_nothing() {
        let mut fraction = Fraction::new(&[step("x", 10 << 30)]);
        fraction.start(&("a".to_owned(), "x".to_owned()));
        fraction.update(running(1 << 30, 10 << 30));
        let now = Instant::now();
        fraction.update(running(5 << 30, 10 << 30));
        assert_eq!(fraction.time_left(), None, "the run has only begun");
        // Half of the work took 20 seconds, and then nothing was reported for five seconds.
        let ago = |seconds| now.checked_sub(Duration::from_secs(seconds)).unwrap();
        (fraction.first, fraction.rose) = (Some((ago(25), 0.0)), ago(5));
        fraction.update(running(5 << 30, 10 << 30));
        let left = fraction.time_left().unwrap().as_secs_f64();
        assert!((14.0..15.1).contains(&left), "{left}");
        (fraction.first, fraction.rose) = (Some((ago(50), 0.0)), ago(30));
        assert_eq!(fraction.time_left(), None);
    }
}
