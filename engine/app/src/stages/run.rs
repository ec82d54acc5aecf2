//! Seventh stage: runs the steps that are not up to date.

use std::sync::Arc;

use prep_cache::LockGuard;
use prep_core::{Cancel, Context, Reporter, RunOptions};

use super::ended::Ended;
use super::resolve::Plan;
use super::watch::Watch;
use crate::error::Error;
use crate::task::Task;

/// A run that is about to begin.
pub struct Run {
    pub plan: Plan,
    pub(super) task: Task,
    pub(super) ids: Vec<String>,
    pub(super) context: Context,
    pub(super) _in_use: LockGuard,
}

impl Run {
    /// Runs only checks. The results of all other steps must be in the cache or in the remote; otherwise the run fails.
    pub fn forbid_execution(&mut self) {
        self.context.no_execute = true;
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
