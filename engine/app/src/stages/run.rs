//! Seventh stage: runs the steps that are not up to date.

use std::collections::HashSet;
use std::sync::Arc;

use prep_cache::LockGuard;
use prep_core::{Action, Cancel, Context, Graph, NodeId, Reporter, RunOptions};

use super::ended::Ended;
use super::recorded::PublicationRecorder;
use super::resolve::Plan;
use super::watch::Watch;
use crate::error::Error;
use crate::task::Task;

/// A run that is about to begin.
pub struct Run {
    pub plan: Plan,
    pub(super) task: Task,
    pub(super) ids: Vec<String>,
    /// Competitions that are left out because their bundle or a source is missing.
    pub(super) left_out: Vec<String>,
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
        let (nodes, competitions) = (Arc::new(plan.nodes), Arc::new(plan.competitions));
        let recorder = PublicationRecorder {
            graph: plan.graph.clone(),
            nodes: nodes.clone(),
            competitions: competitions.clone(),
            store: context.store.clone(),
            data_dir: task.data_dir(),
        };
        let optional = match options.available_only {
            true => absent_sources(&plan.graph, nodes.values().flatten()),
            false => HashSet::new(),
        };
        let watch = Arc::new(Watch::new(recorder, discard_from, optional, reporter));
        let run_options = RunOptions {
            keep_going: options.keep_going,
            oldest_first: false,
        };
        let cancel = context.cancel.clone();
        let mut uncancelled = context.clone();
        uncancelled.cancel = Cancel::default();
        let (graph, resolution) = (plan.graph.clone(), plan.resolution);
        let report = prep_core::run(graph, context, resolution, run_options, watch.clone())?;
        Ok(Ended {
            graph: plan.graph,
            competitions,
            context: uncancelled,
            report,
            watch,
            nodes,
            cancel,
            task,
            _in_use,
        })
    }
}

/// Returns the competition and step of each source that is not on this machine.
fn absent_sources<'n>(
    graph: &Graph,
    nodes: impl Iterator<Item = &'n NodeId>,
) -> HashSet<(String, String)> {
    let nodes = nodes.map(|id| graph.node(*id));
    let absent = nodes.filter(|node| match &node.action {
        Action::Source(source) => source.location().is_none(),
        Action::Step(_) | Action::Sink(_) => false,
    });
    let names = absent.map(|node| (node.competition.clone(), node.name.clone()));
    names.collect()
}
