//! Seventh stage: runs the steps that are not up to date. The last stage creates the summary from its result.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use prep_cache::{LockGuard, Store};
use prep_core::{
    Cancel, Context, Graph, NodeId, Reporter, RunOptions, RunReport, StepOutcome, Timing,
};
use prep_remote::Link;

use super::assemble::Competition;
use super::availability;
use super::resolve::Plan;
use super::summary::Summary;
use super::watch::Watch;
use super::{origins, record};
use crate::error::Error;
use crate::note::Note;
use crate::prepared;
use crate::run_log::RunLog;
use crate::task::Task;

/// Interval at which the run checks whether all results were sent to the remote.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Results that are held in memory may use the memory of the running steps divided by this number. This memory is used
/// in addition to that of the steps.
const HELD_MEMORY_DIVISOR: u64 = 4;

/// A run that is about to begin.
pub struct Run {
    pub plan: Plan,
    task: Task,
    ids: Vec<String>,
    context: Context,
    _in_use: LockGuard,
}

/// The result of a run of several competitions.
pub struct Preparation {
    /// Summaries, one per competition, in the order of the request.
    pub summaries: Vec<Summary>,
    /// Competitions that could not be planned, with the reason.
    pub refused: Vec<(String, Error)>,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
    /// Time and resources of every step that ran, the slowest first.
    pub timings: Vec<Timing>,
}

/// A run whose steps have ended.
pub(crate) struct Ended {
    pub task: Task,
    pub graph: Arc<Graph>,
    pub competitions: Vec<Competition>,
    /// A context that is never cancelled, because the summary is created even after an interruption.
    pub context: Context,
    pub report: RunReport,
    pub watch: Arc<Watch>,
    nodes: HashMap<String, Vec<NodeId>>,
    cancel: Cancel,
    /// Prevents garbage collection of the cache.
    _in_use: LockGuard,
}

impl Run {
    /// Plans a run and checks that the disk has enough space. The run stops soon after `cancel` is set.
    ///
    /// # Errors
    /// Returns an error if no competition can run, or if the free disk space is too small for the downloads.
    pub fn begin(
        task: &Task,
        ids: &[String],
        cancel: &Cancel,
        notes: &dyn Fn(Note),
    ) -> Result<Run, Error> {
        let (settings, options) = (&task.settings, &task.options);
        let store = Store::open(&settings.store_dir)?;
        // Keeps garbage collection from removing objects, from the first lookup to the end of the run.
        let in_use = cancel.in_use(&store)?;
        let engine = prep_sql::Session::new(&store.temp_dir());
        let store = settings.with_remote_tier(store);
        let context = Context::new(store, settings.limits(), cancel.clone());
        // Tables may stay in memory only if a later run can read them from the bundle again. This is not the case if
        // bundles are removed, or if other machines use the results.
        let can_read_again = options.keep_bundles && settings.remote.is_none();
        let context = match can_read_again {
            true => context.with_memory_results(settings.memory / HELD_MEMORY_DIVISOR),
            false => context,
        };
        prepared::verify_after_restart(settings, &options.variant, ids, &context, notes)?;
        let mut ids = ids.to_vec();
        let mut plan = Plan::create(task, &ids, &engine, &context)?;
        if availability::leave_out(task, &plan, &mut ids, notes)? {
            plan = Plan::create(task, &ids, &engine, &context)?;
        }
        if !options.keep_going {
            plan = plan.complete()?;
        }
        availability::require_credentials(task, &plan)?;
        plan.require_disk(task, notes)?;
        Ok(Run {
            plan,
            task: task.clone(),
            ids,
            context,
            _in_use: in_use,
        })
    }

    /// Runs only checks. The results of all other steps must be in the cache or in the remote; otherwise the run fails.
    pub fn forbid_execution(&mut self) {
        self.context.no_execute = true;
    }

    /// Executes the run, and blocks until its end.
    ///
    /// # Errors
    /// Returns an error if the engine itself fails. Errors of single competitions are in the result.
    pub fn execute(mut self, reporter: Arc<dyn Reporter>) -> Result<Preparation, Error> {
        let refused = std::mem::take(&mut self.plan.refused);
        let ids = std::mem::take(&mut self.ids);
        let reporter = RunLog::start(&self.task, &ids, reporter);
        let ended = self.run(reporter)?;
        ended.confirm_sources()?;
        ended.wait_until_sent();
        let mut summaries: Vec<Summary> = ended
            .competitions
            .iter()
            .map(|one| Summary::of_finished(&ended, one))
            .collect();
        record::record(&ended, &mut summaries)?;
        let variant = &ended.task.options.variant;
        let failed = refused.iter();
        summaries.extend(failed.map(|(id, error)| Summary::refused(id, variant, error)));
        summaries.sort_by_key(|summary| ids.iter().position(|id| *id == summary.id));
        let preparation = Preparation {
            summaries,
            refused,
            interrupted: ended.cancel.is_cancelled() && unfinished(&ended.report),
            timings: ended.report.timings(&ended.graph),
        };
        // Freeing the plan of many competitions takes a noticeable time, so a separate thread does it.
        let freed = std::thread::Builder::new().spawn(move || drop((ended.graph, ended.nodes)));
        // If the thread could not be started, the plan is freed already.
        drop(freed);
        Ok(preparation)
    }

    /// Runs the steps, and records nothing.
    pub(crate) fn run(self, reporter: Arc<dyn Reporter>) -> Result<Ended, Error> {
        let Run {
            plan,
            task,
            context,
            _in_use,
            ..
        } = self;
        let options = &task.options;
        let discard_from = (!options.keep_bundles).then(|| task.settings.data_dir.clone());
        let watch = Arc::new(Watch::new(discard_from, reporter));
        let run_options = RunOptions {
            keep_going: options.keep_going,
            variant: options.variant.clone(),
            oldest_first: false,
        };
        let cancel = context.cancel.clone();
        let mut uncancelled = context.clone();
        uncancelled.cancel = Cancel::default();
        let (graph, resolution) = (plan.graph.clone(), plan.resolution);
        let report = prep_core::run(graph, context, resolution, run_options, watch.clone())?;
        Ok(Ended {
            graph: plan.graph,
            competitions: plan.competitions,
            context: uncancelled,
            report,
            watch,
            nodes: plan.nodes,
            cancel,
            task,
            _in_use,
        })
    }
}

impl Ended {
    /// Returns the nodes of a competition, inputs first.
    pub(crate) fn nodes_of(&self, id: &str) -> &[NodeId] {
        self.nodes.get(id).map_or(&[][..], Vec::as_slice)
    }

    /// Records the files from which the results of complete competitions were computed, in the cache and in the remote.
    fn confirm_sources(&self) -> Result<(), Error> {
        for competition in &self.competitions {
            origins::confirm(self, competition)?;
        }
        Ok(())
    }

    /// Waits until all results are sent to the remote, or rejected by it.
    fn wait_until_sent(&self) {
        let pending = || self.task.settings.remote.as_ref().map_or(0, Link::pending);
        while pending() > 0 && !self.cancel.is_cancelled() {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Returns whether a step was cancelled. A signal after the end of all steps is not an interruption.
fn unfinished(report: &RunReport) -> bool {
    let mut outcomes = report.outcomes.values();
    outcomes.any(|outcome| matches!(outcome, StepOutcome::Cancelled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prep_core::NodeId;

    #[test]
    fn a_run_with_a_cancelled_step_is_unfinished() {
        let mut report = RunReport::default();
        let ends = [StepOutcome::Reused, StepOutcome::Done { millis: 1 }];
        for (number, outcome) in ends.into_iter().enumerate() {
            report.outcomes.insert(NodeId::new(number), outcome);
        }
        assert!(!unfinished(&report));
        report
            .outcomes
            .insert(NodeId::new(2), StepOutcome::Cancelled);
        assert!(unfinished(&report));
    }
}
