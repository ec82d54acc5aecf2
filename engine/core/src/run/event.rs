//! Events of a run, for progress bars, logs and JSON; and measurements of its steps.

use std::sync::Arc;
use std::time::Duration;

use prep_cache::Digest;
use serde::{Deserialize, Serialize};

use crate::{Failure, Graph, NodeId, Progress, Reason, RunReport};

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum StepOutcome {
    /// The step ran.
    Done {
        /// Duration in milliseconds.
        millis: u64,
    },
    /// The step did not run, because its outputs are in the cache or a remote.
    Reused,
    /// The step failed.
    Failed {
        /// The kind of failure.
        failure: Failure,
        /// The error and its causes in one line.
        message: String,
    },
    /// The step did not run, because a step on which it depends failed, or because another failure ended the run.
    Skipped {
        /// Name of the step that failed.
        because: String,
    },
    /// The run was cancelled.
    Cancelled,
}

/// An event of a run.
#[derive(Debug, Clone)]
pub enum Event {
    /// A step starts.
    StepStarted {
        /// Id of the competition.
        competition: String,
        /// Name of the step within the competition.
        step: String,
        /// Kind of the step.
        kind: &'static str,
        /// Why it runs.
        reason: Reason,
        /// Counters that the step updates while it runs.
        progress: Arc<Progress>,
    },
    /// A step waits for another process, which runs the same step or publishes the same directory.
    StepWaiting {
        /// Id of the competition.
        competition: String,
        /// Name of the step within the competition.
        step: String,
        /// The other process, for example `process 4711 of user ann`, if the system knows it.
        holder: Option<String>,
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
        /// The key of the results that the step's target now has, see [`RunReport::targets`].
        target: Option<Digest>,
    },
}

/// Receives events from several threads. Must not block for long.
pub trait Reporter: Send + Sync {
    /// Receives one event.
    fn event(&self, event: &Event);
}

/// Ignores all events.
pub struct NullReporter;

impl Reporter for NullReporter {
    fn event(&self, _event: &Event) {}
}

/// Resources that one step used. Times are in milliseconds, sizes in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// Start time, since the start of the run.
    pub began: u64,
    /// Duration.
    pub wall: u64,
    /// Processor time. Does not include the additional thread of a query that sorts, joins or groups many rows.
    pub cpu: u64,
    /// Bytes read from files and connections, without memory-mapped files.
    pub read: u64,
    /// Bytes written to files and connections.
    pub written: u64,
    /// Maximum memory that was claimed for the step at one time.
    pub memory: u64,
    /// Time between becoming ready and starting.
    pub waited: WaitTimes,
}

/// The time between becoming ready and starting, by reason, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct WaitTimes {
    /// The maximum number of steps was running.
    pub turn: u64,
    /// Another process was running the same step or updating the same target.
    pub lock: u64,
    /// Other steps had claimed the memory.
    pub memory: u64,
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Measurements of one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timing {
    /// Id of the competition.
    pub competition: String,
    /// Name of the step within the competition.
    pub step: String,
    /// Kind of the step.
    pub kind: String,
    #[serde(flatten)]
    /// The measurements.
    pub figures: Figures,
}

impl RunReport {
    /// Returns the measurements of the steps that ran, slowest first.
    pub fn timings(&self, graph: &Graph) -> Vec<Timing> {
        let timing = |(id, figures): (&NodeId, &Figures)| {
            let node = graph.node(*id);
            Timing {
                competition: node.competition.clone(),
                step: node.name.clone(),
                kind: node.action.kind().to_owned(),
                figures: *figures,
            }
        };
        let mut timings: Vec<Timing> = self.figures.iter().map(timing).collect();
        timings.sort_by(|a, b| {
            let name = |timing: &Timing| (timing.competition.clone(), timing.step.clone());
            let wall = b.figures.wall.cmp(&a.figures.wall);
            wall.then_with(|| name(a).cmp(&name(b)))
        });
        timings
    }
}
