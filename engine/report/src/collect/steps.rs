//! Steps: when and why each one ran last, and whether it would run now.

use prep_app::{Error, Plan, Runs, reasons};
use prep_cache::{Digest, History, Store};

/// One step of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    pub name: String,
    pub kind: &'static str,
    /// Time of its result, in seconds since 1970. `None` for steps without a result.
    pub when: Option<i64>,
    pub millis: Option<u64>,
    /// The reason of its last run, as text.
    pub why: Option<String>,
    /// The reason why it would run now, independent of its inputs.
    pub now: Option<String>,
}

/// Returns the steps of a competition.
///
/// # Errors
/// Returns an error if the history cannot be read.
pub fn steps(
    plan: &Plan,
    id: &str,
    history: &History,
    store: &Store,
) -> Result<Vec<StepRow>, Error> {
    let last = plan.last_runs(id)?;
    let planned = plan.steps(id)?.into_iter();
    let steps = planned.map(|step| {
        let noted = history.steps.get(&step.step);
        let made = noted.and_then(|noted| creation(store, &noted.key));
        let why = last.get(&step.step);
        let why = why.map(|last| match &last.reason {
            Some(reason) => reasons::short(reason),
            None => "its result was found, it never ran here".to_owned(),
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

/// Returns the time of a result in seconds since 1970, and its duration in milliseconds.
pub fn creation(store: &Store, key: &Digest) -> Option<(i64, u64)> {
    // The next run makes unreadable results again. Until then their time is unknown.
    let entry = store.lookup(key).ok().flatten()?;
    Some((i64::try_from(entry.created).ok()?, entry.millis))
}
