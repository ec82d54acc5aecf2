//! Handles the events of a run: measures the time of every competition and, if requested, deletes a bundle as soon as
//! its competition is prepared.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prep_core::{Event, Reporter, StepOutcome};

/// The kind of the last step of each competition.
pub const PUBLISH_STEP: &str = "publish";

/// A reporter that measures times and deletes bundles, and passes all events on to `next`.
pub(crate) struct Watch {
    /// The data directory from which bundles are deleted. `None` if bundles are kept.
    discard_from: Option<PathBuf>,
    next: Arc<dyn Reporter>,
    times: Mutex<HashMap<String, (Instant, Instant)>>,
}

impl Watch {
    pub(crate) fn new(discard_from: Option<PathBuf>, next: Arc<dyn Reporter>) -> Watch {
        Watch {
            discard_from,
            next,
            times: Mutex::default(),
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
                if let Some(data_dir) = &self.discard_from
                    && has_succeeded
                    && *kind == PUBLISH_STEP
                {
                    prep_fetch::discard(data_dir, competition);
                }
            }
        }
        self.next.event(event);
    }
}
