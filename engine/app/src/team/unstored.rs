//! Stores the tables that a run held in memory, for other machines, which may not have the bundle.

use std::sync::Arc;

use prep_cache::Store;
use prep_core::{Context, NullReporter, RunOptions, resolve, run};

use crate::error::Error;
use crate::settings::Settings;
use crate::stages::resolve::Plan;

/// Runs the steps of a plan again whose results were not stored, with storing on. Results of failed steps stay unstored. If all results
/// are stored, nothing is written.
///
/// # Errors
/// When the store cannot be written to, or the engine itself fails.
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
