//! Stores tables that a run only held in memory, for other machines that may not have the bundle.

use std::sync::Arc;

use prep_cache::Store;
use prep_core::{Context, NullReporter, RunOptions, resolve, run};

use crate::error::Error;
use crate::run_log::{RunEnd, RunLog};
use crate::stages::resolve::Plan;
use crate::task::Task;

/// Reruns the steps of a plan whose results were not stored, and stores the results. Results of failed steps stay
/// unstored. If all results are stored already, writes nothing.
///
/// # Errors
/// Returns an error if the cache cannot be written, or if the engine itself fails.
pub(crate) fn store(plan: &mut Plan, context: &Context, task: &Task) -> Result<(), Error> {
    if plan.resolution.unstored(&plan.graph).is_empty() {
        return Ok(());
    }
    let settings = &task.settings;
    let store = Store::open(&settings.store_dir)?;
    let context = Context::new(store, settings.limits(), context.cancel.clone());
    let last = plan.resolution.last.clone();
    let mut resolution = resolve(&plan.graph, &context, &last)?;
    resolution.work = resolution.unstored(&plan.graph);
    let options = RunOptions {
        keep_going: true,
        oldest_first: false,
    };
    let ids = plan.competitions.iter().map(|one| one.id.clone());
    let ids: Vec<String> = ids.collect();
    let log = RunLog::start(task, &ids, &[], Arc::new(NullReporter));
    let (graph, reporter) = (plan.graph.clone(), log.clone());
    let report = run(graph, context.clone(), resolution, options, reporter).map_err(Error::from);
    log.finish(report.as_ref().map(RunEnd::of_report));
    report?;
    plan.resolution = resolve(&plan.graph, &context, &last)?;
    Ok(())
}
