//! Tests the guarantees of a step.

use std::collections::BTreeMap;

use prep_cache::Digest;
use prep_core::{Context, Failure, Inputs, Outputs, Step, StepError, chain};

use crate::Violation;
use crate::environment::{Environment, LIMITS};
use crate::violation::{OrViolation, expect};

/// Tests a step. `inputs` creates the step's inputs in the cache of a context.
///
/// - The name of the kind is one word of lower-case letters, digits and `_`.
/// - Each call returns the same parameters.
/// - Outputs are equal, byte by byte, in an empty cache and in a cache that already contains them.
/// - Outputs do not depend on the number of threads and the amount of memory.
/// - The step succeeds with a gigabyte of memory. With less, an error of the kind [`Failure::Machine`] is allowed.
/// - All objects of the outputs are in the cache, and are intact.
/// - The step leaves no temporary files.
/// - In a cancelled run, the step returns an error of the kind [`Failure::Cancelled`].
///
/// # Errors
/// Returns the first guarantee that the step does not give.
pub fn check_step(
    step: &dyn Step,
    inputs: impl Fn(&Context) -> Result<Inputs, StepError>,
) -> Result<(), Violation> {
    let kind = step.kind();
    let is_letter =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    expect(
        !kind.is_empty() && kind.chars().all(is_letter),
        "the name of a kind is one word in lower case",
        || format!("`{kind}`"),
    )?;
    let params = step.params();
    expect(
        params == step.params(),
        "the parameters are always the same",
        || params.to_string(),
    )?;
    let mut expected: Option<BTreeMap<String, Digest>> = None;
    for limits in LIMITS {
        let environment = Environment::new(limits)?;
        for attempt in ["in an empty cache", "in a cache that contains the result"] {
            let context = environment.new_run();
            let step_inputs = inputs(&context).or_violation("the inputs can be created")?;
            let is_short = limits.memory < ENOUGH_MEMORY;
            match step.run(&context, &step_inputs) {
                Err(error) if is_short && error.failure() == Failure::Machine => {}
                result => {
                    let outputs = result.or_violation(SUCCEEDS)?;
                    check_objects(&context, &outputs)?;
                    let found = digests(&outputs);
                    let before = expected.get_or_insert_with(|| found.clone());
                    expect(*before == found, PURE, || {
                        let (jobs, memory) = (limits.jobs, limits.memory);
                        let names = differing(before, &found).join(", ");
                        format!(
                            "{names} differ {attempt}, with {jobs} threads and {memory} bytes of memory"
                        )
                    })?;
                }
            }
            drop(step_inputs);
            let left = environment.leftovers()?;
            expect(left.is_empty(), "no temporary files are left", || {
                left.join(", ")
            })?;
        }
        let context = environment.cancelled_run();
        let step_inputs =
            inputs(&environment.new_run()).or_violation("the inputs can be created")?;
        let stopped = step
            .run(&context, &step_inputs)
            .map_err(|error| error.failure());
        expect(
            matches!(stopped, Err(Failure::Cancelled)),
            "a step stops when the run was cancelled",
            || match stopped {
                Ok(_) => "it returned a result".to_owned(),
                Err(failure) => format!("it failed, but with the kind `{}`", failure.name()),
            },
        )?;
    }
    Ok(())
}

const SUCCEEDS: &str = "the step succeeds if it has enough memory";
const ENOUGH_MEMORY: u64 = 1 << 30;
const PURE: &str = "outputs depend on inputs only";

fn digests(outputs: &Outputs) -> BTreeMap<String, Digest> {
    let digests = outputs
        .iter()
        .map(|(name, value)| (name.clone(), value.digest()));
    digests.collect()
}

fn differing(one: &BTreeMap<String, Digest>, other: &BTreeMap<String, Digest>) -> Vec<String> {
    let names = one.keys().chain(other.keys());
    let mut names: Vec<String> = names
        .filter(|name| one.get(*name) != other.get(*name))
        .map(|name| format!("`{name}`"))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Checks each object of the outputs: it must be in the cache, or the step must keep it in memory.
fn check_objects(context: &Context, outputs: &Outputs) -> Result<(), Violation> {
    for (name, value) in outputs {
        for object in &value.objects {
            if context.objects.holds(object) {
                continue;
            }
            let read = context.store.open_object(object);
            read.map_err(|error| {
                let found = format!("{object} of the output `{name}`: {}", chain(&error));
                Violation::new("objects of outputs are in the cache", found)
            })?;
        }
    }
    Ok(())
}
