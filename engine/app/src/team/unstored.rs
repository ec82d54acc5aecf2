//! Stores tables that a run only held in memory, for other machines that may not have the bundle.

use std::sync::Arc;

use prep_cache::Store;
use prep_core::{Context, NullReporter, RunOptions, resolve, run};

use crate::error::Error;
use crate::settings::Settings;
use crate::stages::resolve::Plan;

/// Reruns the steps of a plan whose results were not stored, and stores the results. Results of failed steps stay
/// unstored. If all results are stored already, writes nothing.
///
/// # Errors
/// Returns an error if the cache cannot be written, or if the engine itself fails.
pub(crate) fn store(
    plan: &mut Plan,
    context: &Context,
    settings: &Settings,
    variant: &str,
) -> Result<(), Error> {
    if plan.resolution.unstored(&plan.graph).is_empty() {
        return Ok(());
    }
    let store = Store::open(&settings.store_dir)?;
    let context = Context::new(store, settings.limits(), context.cancel.clone());
    let mut resolution = resolve(&plan.graph, &context, variant)?;
    resolution.work = resolution.unstored(&plan.graph);
    let options = RunOptions {
        keep_going: true,
        variant: variant.to_owned(),
        oldest_first: false,
    };
    run(
        plan.graph.clone(),
        context.clone(),
        resolution,
        options,
        Arc::new(NullReporter),
    )?;
    plan.resolution = resolve(&plan.graph, &context, variant)?;
    Ok(())
}
