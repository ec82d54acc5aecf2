//! What a run held in memory, stored after all: for other machines, which may not have the bundle.

use std::collections::HashMap;
use std::sync::Arc;

use prep_cache::Digest;
use prep_core::{
    Context, NodeId, NullReporter, Reason, Resolution, RunOptions, State, resolve, run,
};

use crate::error::Error;
use crate::plan::Plan;
use crate::run::runtime;

/// Runs the steps of a plan once more whose results were not stored, in surroundings where nothing is held. What does not
/// succeed stays as it is.
///
/// # Errors
/// When the engine itself fails.
pub(crate) fn store(plan: &mut Plan, context: &Context, variant: &str) -> Result<(), Error> {
    let work = makers(plan);
    if work.is_empty() {
        return Ok(());
    }
    let resolution = Resolution {
        states: plan.resolution.states.clone(),
        order: plan.resolution.order.clone(),
        work,
        last: plan.resolution.last.clone(),
    };
    let options = RunOptions {
        keep_going: true,
        variant: variant.to_owned(),
    };
    let graph = plan.graph.clone();
    let running = run(
        graph,
        context.clone(),
        resolution,
        options,
        Arc::new(NullReporter),
    );
    runtime()?.block_on(running)?;
    plan.resolution = resolve(&plan.graph, context, variant)?;
    Ok(())
}

/// The steps that made what was not stored. Others only pass it on.
fn makers(plan: &Plan) -> HashMap<NodeId, Reason> {
    let unstored = |id: &NodeId| -> Vec<Digest> {
        let Some(State::Known { missing, .. }) = plan.resolution.states.get(id) else {
            return Vec::new();
        };
        let unstored = missing.iter().filter(|one| one.is_unstored);
        unstored.map(|one| one.object).collect()
    };
    let made = |id: &NodeId| {
        let inputs = plan.graph.inputs(*id).into_iter();
        let given: Vec<Digest> = inputs.flat_map(|(_, port)| unstored(&port.node)).collect();
        let object = unstored(id)
            .into_iter()
            .find(|object| !given.contains(object))?;
        Some((*id, Reason::Unstored { object }))
    };
    plan.resolution.order.iter().filter_map(made).collect()
}
