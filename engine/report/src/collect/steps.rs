//! When and why each step ran last, and whether it would run now.

use prep_app::{Error, Plan, Runs, reasons};
use prep_cache::{Digest, History, Store};

/// One step of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub name: String,
    pub kind: &'static str,
    /// When its result was made, in seconds since 1970; none of steps without a result of their own.
    pub when: Option<i64>,
    pub millis: Option<u64>,
    /// Why it last ran, in words.
    pub why: Option<String>,
    /// Why it would run now, whatever becomes of what feeds it.
    pub now: Option<String>,
}

/// The steps of a competition.
///
/// # Errors
/// When the history cannot be read.
pub fn steps(plan: &Plan, id: &str, history: &History, store: &Store) -> Result<Vec<Step>, Error> {
    let last = plan.last_runs(id)?;
    let planned = plan.steps(id)?.into_iter();
    let steps = planned.map(|step| {
        let noted = history.steps.get(&step.step);
        let made = noted.and_then(|noted| made(store, &noted.key));
        let why = last.get(&step.step);
        let why = why.map(|last| match &last.reason {
            Some(reason) => reasons::short(reason),
            None => "its result was found, it never ran here".to_owned(),
        });
        let now = match (step.runs, &step.reason) {
            (Runs::No | Runs::Maybe, _) | (_, None) => None,
            (Runs::Yes, Some(reason)) => Some(reasons::short(reason)),
        };
        Step {
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

/// When a result was made, in seconds since 1970, and what it took in milliseconds.
pub fn made(store: &Store, key: &Digest) -> Option<(i64, u64)> {
    // What cannot be read is made anew by the next run; until then nothing is known of it.
    let entry = store.lookup(key).ok().flatten()?;
    Some((i64::try_from(entry.created).ok()?, entry.millis))
}
