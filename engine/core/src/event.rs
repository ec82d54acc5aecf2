//! What happens during a run, as data.

use std::sync::Arc;

use serde::Serialize;

use crate::{Failure, Progress, Reason};

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum StepOutcome {
    /// It ran.
    Done {
        millis: u64,
    },
    /// Its outputs were found.
    Reused,
    Failed {
        failure: Failure,
        message: String,
    },
    /// Something that it needs failed.
    Skipped {
        because: String,
    },
    Cancelled,
}

/// One event. `competition` and `step` name the node.
#[derive(Debug, Clone)]
pub enum Event {
    /// The run begins: how many nodes there are and how many of them are known to be up to date.
    Started {
        steps: usize,
        reused: usize,
    },
    /// A step begins; its counters move until it ends.
    StepStarted {
        competition: String,
        step: String,
        kind: &'static str,
        reason: Reason,
        progress: Arc<Progress>,
    },
    StepEnded {
        competition: String,
        step: String,
        kind: &'static str,
        outcome: StepOutcome,
    },
    Finished,
}

/// Reads events. Called from several threads; must not block for long.
pub trait Reporter: Send + Sync {
    fn event(&self, event: &Event);
}

/// Ignores all events.
pub struct NullReporter;

impl Reporter for NullReporter {
    fn event(&self, _event: &Event) {}
}
