//! A run whose steps have ended. The later stages record facts about it and create its summary.

use std::collections::HashMap;
use std::sync::Arc;

use prep_cache::LockGuard;
use prep_core::{Cancel, Context, Graph, Node, NodeId, RunReport, StepOutcome};
use serde::Serialize;

use super::assemble::Competition;
use super::watch::Watch;
use crate::task::Task;

/// How a competition ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompetitionState {
    /// Steps ran, and the data directory is complete.
    Prepared,
    /// Nothing had to run.
    UpToDate,
    Failed,
    /// Stopped by the user, or left out because another competition failed.
    Stopped,
}

impl CompetitionState {
    /// Returns whether the competition is completely prepared.
    pub fn is_complete(self) -> bool {
        matches!(
            self,
            CompetitionState::Prepared | CompetitionState::UpToDate
        )
    }
}

/// A run whose steps have ended.
pub(crate) struct Ended {
    pub task: Task,
    pub graph: Arc<Graph>,
    pub competitions: Arc<Vec<Competition>>,
    /// A context that is never cancelled, because the summary is created even after an interruption.
    pub context: Context,
    pub report: RunReport,
    pub watch: Arc<Watch>,
    pub(super) nodes: Arc<HashMap<String, Vec<NodeId>>>,
    pub(super) cancel: Cancel,
    /// Prevents garbage collection of the cache.
    pub(super) _in_use: LockGuard,
}

impl Ended {
    /// Returns the nodes of a competition, inputs first.
    pub(crate) fn nodes_of(&self, id: &str) -> &[NodeId] {
        self.nodes.get(id).map_or(&[][..], Vec::as_slice)
    }

    /// Returns the nodes of a competition that have an outcome, with their outcomes.
    pub(crate) fn outcomes_of(
        &self,
        id: &str,
    ) -> impl Iterator<Item = (NodeId, &Node, &StepOutcome)> {
        let nodes = self.nodes_of(id).iter();
        nodes.filter_map(|id| {
            let outcome = self.report.outcomes.get(id)?;
            Some((*id, self.graph.node(*id), outcome))
        })
    }

    /// Returns the number of steps of a competition that ran without an error, and the number of steps that were
    /// reused.
    pub(crate) fn run_and_reused(&self, id: &str) -> (usize, usize) {
        let count = |wanted: fn(&StepOutcome) -> bool| {
            let outcomes = self.outcomes_of(id);
            outcomes.filter(|(_, _, outcome)| wanted(outcome)).count()
        };
        (
            count(|outcome| matches!(outcome, StepOutcome::Done { .. })),
            count(|outcome| matches!(outcome, StepOutcome::Reused)),
        )
    }

    pub(crate) fn state_of(&self, id: &str) -> CompetitionState {
        let (run, reused) = self.run_and_reused(id);
        let mut outcomes = self.outcomes_of(id);
        match run {
            _ if outcomes.any(|(_, _, one)| matches!(one, StepOutcome::Failed { .. })) => {
                CompetitionState::Failed
            }
            _ if run + reused < self.nodes_of(id).len() => CompetitionState::Stopped,
            0 => CompetitionState::UpToDate,
            _ => CompetitionState::Prepared,
        }
    }

    /// Returns whether a step was cancelled. A signal after the end of all steps is not an interruption.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.cancel.is_cancelled() && is_unfinished(&self.report)
    }

    /// Waits until all results are sent to the remote, or rejected by it.
    pub(crate) fn wait_until_sent(&self) {
        if let Some(link) = &self.task.settings.remote {
            link.finish(|| self.cancel.is_cancelled());
        }
    }

    /// Frees the plan of the run. For many competitions that takes a noticeable time, so a separate thread does it.
    pub(crate) fn free(self) {
        let freed = std::thread::Builder::new().spawn(move || drop((self.graph, self.nodes)));
        // If the thread could not be started, the plan is freed already.
        drop(freed);
    }
}

fn is_unfinished(report: &RunReport) -> bool {
    let mut outcomes = report.outcomes.values();
    outcomes.any(|outcome| matches!(outcome, StepOutcome::Cancelled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_with_a_cancelled_step_is_unfinished() {
        let mut report = RunReport::default();
        let ends = [StepOutcome::Reused, StepOutcome::Done { millis: 1 }];
        for (number, outcome) in ends.into_iter().enumerate() {
            report.outcomes.insert(NodeId::new(number), outcome);
        }
        assert!(!is_unfinished(&report));
        report
            .outcomes
            .insert(NodeId::new(2), StepOutcome::Cancelled);
        assert!(is_unfinished(&report));
    }
}
