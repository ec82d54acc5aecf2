//! Handles the events of a run: measures the time of every competition, records how a tree was prepared as soon as it is
//! published, and, if requested, deletes its bundle.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prep_core::{Event, Reporter, StepOutcome};

use super::recorded::PublicationRecorder;

/// The kind of the last step of each competition.
pub const PUBLISH_STEP: &str = "publish";

/// A reporter that measures times, records publications and deletes bundles, and passes all events on to `next`.
pub(crate) struct Watch {
    recorder: PublicationRecorder,
    /// The data directory from which bundles are deleted. `None` if bundles are kept.
    discard_from: Option<PathBuf>,
    /// The sources, by competition and step, whose failure leaves their competition out. It is not reported as a
    /// failure.
    optional: HashSet<(String, String)>,
    next: Arc<dyn Reporter>,
    times: Mutex<HashMap<String, (Instant, Instant)>>,
}

impl Watch {
    pub(super) fn new(
        recorder: PublicationRecorder,
        discard_from: Option<PathBuf>,
        optional: HashSet<(String, String)>,
        next: Arc<dyn Reporter>,
    ) -> Watch {
        Watch {
            recorder,
            discard_from,
            optional,
            next,
            times: Mutex::default(),
        }
    }

    /// Returns whether the failure of a step leaves its competition out.
    pub(crate) fn is_optional(&self, competition: &str, step: &str) -> bool {
        let name = (competition.to_owned(), step.to_owned());
        self.optional.contains(&name)
    }

    /// Passes an event on, with the failure of an optional source as a skipped step.
    fn pass_on(&self, event: &Event) {
        match event {
            Event::StepEnded {
                competition,
                step,
                kind,
                outcome: StepOutcome::Failed { .. },
            } if self.is_optional(competition, step) => self.next.event(&Event::StepEnded {
                competition: competition.clone(),
                step: step.clone(),
                kind,
                outcome: StepOutcome::Skipped {
                    because: step.clone(),
                },
            }),
            _ => self.next.event(event),
        }
    }

    /// Returns the time from the start of a competition's first step to the end of its last step. Returns zero if no
    /// step ran.
    pub(crate) fn time_of(&self, competition: &str) -> Duration {
        let times = self.times.lock();
        let time = times.get(competition);
        time.map_or(Duration::ZERO, |(first, last)| last.duration_since(*first))
    }
}

impl Reporter for Watch {
    fn event(&self, event: &Event) {
        match event {
            Event::StepStarted { competition, .. } => {
                let now = Instant::now();
                let mut times = self.times.lock();
                times.entry(competition.clone()).or_insert((now, now));
            }
            Event::StepEnded {
                competition,
                kind,
                outcome,
                ..
            } => {
                if let Some(time) = self.times.lock().get_mut(competition) {
                    time.1 = Instant::now();
                }
                let has_succeeded =
                    matches!(outcome, StepOutcome::Done { .. } | StepOutcome::Reused);
                if has_succeeded && *kind == PUBLISH_STEP {
                    self.recorder
                        .published(competition, *outcome == StepOutcome::Reused);
                    if let Some(data_dir) = &self.discard_from {
                        prep_fetch::discard(data_dir, competition);
                    }
                }
            }
        }
        self.pass_on(event);
    }
}
