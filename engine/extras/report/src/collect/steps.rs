//! Collects the steps of a pipeline: when and why each step last ran, and whether it would run now.

use prep_app::{Error, Plan, Runs, reasons};
use prep_cache::{Digest, Store};

/// One step of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    pub name: String,
    pub kind: &'static str,
    /// Time at which the result was computed, in seconds since 1970. `None` for steps without a result.
    pub when: Option<i64>,
    pub millis: Option<u64>,
    /// The reason why the step last ran, as text.
    pub why: Option<String>,
    /// The reason why the step would run now. `None` if it is up to date, or if another step's result
    /// decides whether it runs.
    pub now: Option<String>,
}

/// Returns the steps of a competition, with their last runs into the data directory of the plan.
///
/// # Errors
/// Returns an error if the history cannot be read.
pub fn steps(plan: &Plan, id: &str, store: &Store) -> Result<Vec<StepRow>, Error> {
    let history = plan.history(id)?;
    let last = plan.last_runs(id)?;
    let planned = plan.steps(id)?.into_iter();
    let steps = planned.map(|step| {
        let recorded = history.steps.get(&step.step);
        let made = recorded.and_then(|recorded| creation(store, &recorded.key));
        let why = last.get(&step.step);
        let why = why.map(|last| match &last.reason {
            Some(reason) => reasons::short(reason),
            None => "its result was found in the cache or the remote".to_owned(),
        });
        let now = match (step.runs, &step.reason) {
            (Runs::No | Runs::Maybe, _) | (_, None) => None,
            (Runs::Yes, Some(reason)) => Some(reasons::short(reason)),
        };
        StepRow {
            kind: step.kind,
            when: made.map(|(when, _)| when),
            millis: made.map(|(_, millis)| millis),
            why,
            now,
            name: step.step,
        }
    });
    Ok(steps.collect())
}

/// Returns the time at which a result was computed in seconds since 1970, and the duration of the step in milliseconds.
fn creation(store: &Store, key: &Digest) -> Option<(i64, u64)> {
    // If an entry is unreadable, its time is unknown. The next run computes the result again.
    let entry = store.lookup(key).ok().flatten()?;
    Some((i64::try_from(entry.created).ok()?, entry.millis))
}
