//! Events of a run, as data for progress bars, logs and JSON.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Failure, Progress, Reason};

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum StepOutcome {
    /// The step ran.
    Done {
        /// Duration in milliseconds.
        millis: u64,
    },
    /// The outputs of the step are in the cache or in the remote.
    Reused,
    /// The step failed.
    Failed {
        /// The kind of failure.
        failure: Failure,
        /// The error and its causes in one line.
        message: String,
    },
    /// The step did not run, because a step that it depends on failed.
    Skipped {
        /// Name of the step that failed.
        because: String,
    },
    /// The run was cancelled.
    Cancelled,
}

/// An event of a run. The fields `competition` and `step` identify the node.
#[derive(Debug, Clone)]
pub enum Event {
    /// A step begins. Its counters change until it ends.
    StepStarted {
        /// Id of the competition.
        competition: String,
        /// Name of the step within the competition.
        step: String,
        /// Kind of the step.
        kind: &'static str,
        /// Why it runs.
        reason: Reason,
        /// Counters of bytes and files, which the step updates.
        progress: Arc<Progress>,
    },
    /// A step ended.
    StepEnded {
        /// Id of the competition.
        competition: String,
        /// Name of the step within the competition.
        step: String,
        /// Kind of the step.
        kind: &'static str,
        /// How it ended.
        outcome: StepOutcome,
    },
}

/// Receives events. It is called from several threads and must not block for long.
pub trait Reporter: Send + Sync {
    /// Receives one event.
    fn event(&self, event: &Event);
}

/// Ignores all events.
pub struct NullReporter;

impl Reporter for NullReporter {
    fn event(&self, _event: &Event) {}
}
