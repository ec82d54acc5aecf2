//! Fifth stage: runs the steps that are not up to date, and measures the time of every competition.
//!
//! As soon as a competition is published, records how it was prepared, and deletes its bundle on request.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prep_cache::{Digest, LockGuard, Store, unix_seconds};
use prep_core::{
    Action, Cancel, Context, Event, Node, NodeId, Reporter, RunOptions, RunReport, StepOutcome,
};
use serde::Serialize;

use crate::error::Error;
use crate::stages::origins::record_publication;
use crate::stages::resolve::{CompetitionGraph, Plan};
use crate::task::Task;

/// A run that is about to begin.
pub struct Run {
    pub plan: Plan,
    pub(super) task: Task,
    pub(super) ids: Vec<String>,
    pub(crate) context: Context,
    pub(super) _in_use: LockGuard,
}

impl Run {
    /// Forbids the run to execute steps other than checks. The run fails if it needs the result of such a step, and the
    /// result is in neither the cache nor the remote.
    pub fn forbid_execution(&mut self) {
        self.context.no_execute = true;
    }

    /// Runs the steps, without the later stages `record` and `summary`.
    pub(crate) fn run(self, reporter: Arc<dyn Reporter>) -> Result<Ended, Error> {
        let Run {
            plan,
            task,
            context,
            ..
        } = self;
        let absent = plan.all.all_nodes().filter(|node| {
            let is_optional = task.options.available_only;
            matches!(&node.action, Action::Source(source) if is_optional && source.location().is_none())
        });
        let absent = absent.map(|node| (node.competition.clone(), node.name.clone()));
        let watch = Arc::new(Watch {
            optional: absent.collect(),
            all: plan.all.clone(),
            store: context.store.clone(),
            task: task.clone(),
            next: reporter,
            times: Mutex::default(),
        });
        let run_options = RunOptions {
            keep_going: task.options.keep_going,
            oldest_first: false,
        };
        let cancel = context.cancel.clone();
        let mut uncancelled = context.clone();
        uncancelled.cancel = Cancel::default();
        let (graph, resolution) = (plan.all.graph.clone(), plan.resolution);
        let began = unix_seconds();
        let report = prep_core::run(graph, context, resolution, run_options, watch.clone())?;
        Ok(Ended {
            all: plan.all,
            context: uncancelled,
            began,
            report,
            watch,
            cancel,
            task,
            _in_use: self._in_use,
        })
    }
}

/// How a competition ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompetitionState {
    /// Steps ran, and the data directory is complete.
    Prepared,
    /// Nothing had to run.
    UpToDate,
    #[default]
    Failed,
    /// Stopped by the user, or left out because another competition failed.
    Stopped,
}

impl CompetitionState {
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
    pub all: Arc<CompetitionGraph>,
    /// A context that is never cancelled, because the summary is created even after an interruption.
    pub context: Context,
    /// Start of the first step, in seconds since 1970.
    pub began: u64,
    pub report: RunReport,
    pub watch: Arc<Watch>,
    pub(super) cancel: Cancel,
    /// Prevents garbage collection of the cache.
    pub(super) _in_use: LockGuard,
}

impl Ended {
    /// Returns the key of the results that this run published or found published. Returns `None` if the run failed before.
    pub(super) fn published_key(&self, id: &str) -> Option<Digest> {
        let nodes = self.all.nodes_of(id).iter();
        nodes
            .filter_map(|node| self.report.targets.get(node))
            .next()
            .copied()
    }

    pub(crate) fn outcomes_of(
        &self,
        id: &str,
    ) -> impl Iterator<Item = (NodeId, &Node, &StepOutcome)> {
        let nodes = self.all.nodes_of(id).iter();
        nodes.filter_map(|id| {
            let outcome = self.report.outcomes.get(id)?;
            Some((*id, self.all.graph.node(*id), outcome))
        })
    }

    /// Returns the number of steps that ran without an error, and the number of steps that were reused.
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
            _ if run + reused < self.all.nodes_of(id).len() => CompetitionState::Stopped,
            0 => CompetitionState::UpToDate,
            _ => CompetitionState::Prepared,
        }
    }

    /// Returns whether a step was cancelled. A signal after the end of all steps is not an interruption.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.cancel.is_cancelled() && is_unfinished(&self.report)
    }

    /// Waits until all results are sent to the remote, or rejected by it. Returns false if the run was stopped before.
    pub(crate) fn wait_until_sent(&self) -> bool {
        let link = self.task.settings.remote.as_ref();
        link.is_none_or(|link| link.finish(|| self.cancel.is_cancelled()))
    }

    /// Frees the memory of the plan in a separate thread, because this takes a noticeable time for many competitions.
    pub(crate) fn free(self) {
        let freed = std::thread::Builder::new().spawn(move || drop((self.all, self.watch)));
        // If the thread cannot be started, `spawn` has already dropped the closure with the plan.
        drop(freed);
    }
}

fn is_unfinished(report: &RunReport) -> bool {
    let mut outcomes = report.outcomes.values();
    outcomes.any(|outcome| matches!(outcome, StepOutcome::Cancelled))
}

/// The kind of the last step of each competition.
pub const PUBLISH_STEP: &str = "publish";

/// A reporter that measures times, records publications and deletes bundles, and passes all events on to `next`.
pub(crate) struct Watch {
    all: Arc<CompetitionGraph>,
    store: Store,
    task: Task,
    /// Pairs of a competition's id and the name of a step that reads a source. If this step fails, the competition is left
    /// out and is not reported as failed.
    optional: HashSet<(String, String)>,
    next: Arc<dyn Reporter>,
    /// The start of the first step and the end of the last step of each competition, by id.
    times: Mutex<HashMap<String, (Instant, Instant)>>,
}

impl Watch {
    /// Returns whether the failure of a step leaves its competition out.
    pub(crate) fn is_optional(&self, competition: &str, step: &str) -> bool {
        let name = (competition.to_owned(), step.to_owned());
        self.optional.contains(&name)
    }

    /// Passes an event on. The failure of an optional source is passed on as a skipped step.
    fn pass_on(&self, event: &Event) {
        match event {
            Event::StepEnded {
                competition,
                step,
                kind,
                outcome: StepOutcome::Failed { .. },
                target,
            } if self.is_optional(competition, step) => self.next.event(&Event::StepEnded {
                competition: competition.clone(),
                step: step.clone(),
                kind,
                outcome: StepOutcome::Skipped {
                    because: step.clone(),
                },
                target: *target,
            }),
            _ => self.next.event(event),
        }
    }

    /// Returns the time from the start of a competition's first step to the end of its last step, or zero if no step ran.
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
            Event::StepWaiting { .. } => {}
            Event::StepEnded {
                competition,
                kind,
                outcome,
                target,
                ..
            } => {
                if let Some(time) = self.times.lock().get_mut(competition) {
                    time.1 = Instant::now();
                }
                // If nothing had to be published, the stage `record` records the preparation and deletes the bundle.
                if let (StepOutcome::Done { .. }, Some(key), &PUBLISH_STEP) =
                    (outcome, target, kind)
                {
                    let place = (&self.store, &*self.task.data_dir());
                    record_publication(&self.all, place, competition, key);
                    if !self.task.options.keep_bundles {
                        prep_fetch::discard(&self.task.settings.data_dir, competition);
                    }
                }
            }
        }
        self.pass_on(event);
    }
}

/// Returns the competitions that failed only because a needed source is not on this machine.
pub(super) fn left_out_while_running(ended: &Ended) -> Vec<String> {
    let ids = ended.all.competitions.iter().map(|one| &one.id);
    let is_left_out = |id: &&String| {
        let outcomes = ended.outcomes_of(id);
        let mut failed = outcomes
            .filter(|(_, _, outcome)| matches!(outcome, StepOutcome::Failed { .. }))
            .map(|(_, node, _)| ended.watch.is_optional(id, &node.name))
            .peekable();
        failed.peek().is_some() && failed.all(|is_optional| is_optional)
    };
    ids.filter(is_left_out).cloned().collect()
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
