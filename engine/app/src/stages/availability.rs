//! Handles missing bundles before any step runs: leaves competitions out on request, and reports missing credentials as
//! one error.

use prep_core::{Remedy, chain, units};
use prep_fetch::FetchError;

use super::resolve::Plan;
use crate::bundles;
use crate::error::Error;
use crate::note::Note;
use crate::task::Task;

/// Removes competitions with a missing bundle or source from `ids`, if the task prepares only available competitions.
/// Returns whether any competition was removed.
///
/// # Errors
/// Returns an error if no competition is left.
pub(crate) fn leave_out(
    task: &Task,
    plan: &Plan,
    ids: &mut Vec<String>,
    notes: &dyn Fn(Note),
) -> Result<bool, Error> {
    if !task.options.available_only {
        return Ok(false);
    }
    let mut absent: Vec<String> = Vec::new();
    for input in plan.missing() {
        if !absent.contains(&input.competition.id) {
            absent.push(input.competition.id.clone());
        }
    }
    if absent.is_empty() {
        return Ok(false);
    }
    ids.retain(|id| !absent.contains(id));
    if ids.is_empty() {
        let message = format!("bundles or sources are missing: {}", absent.join(", "));
        let remedy = Remedy::AllowDownloads.or(Remedy::NameSource);
        return Err(Error::new(prep_core::Failure::Input, message).help(remedy));
    }
    notes(Note::NotAvailable(&absent));
    Ok(true)
}

/// Fails if several competitions are selected, bundles are missing and there are no credentials to download them. For a
/// single competition, the step of its bundle reports the same error, with the directories that were searched.
///
/// # Errors
/// Returns one error that lists all missing bundles.
pub(crate) fn require_credentials(task: &Task, plan: &Plan) -> Result<(), Error> {
    let missing = plan
        .missing()
        .into_iter()
        .filter(|input| input.source.is_none());
    let missing: Vec<&str> = missing.map(|input| input.competition.id.as_str()).collect();
    match plan.competitions.len() {
        ..2 => Ok(()),
        _ => check_credentials(task, &missing),
    }
}

/// Same as `require_credentials`, for competitions whose bundles are fetched but not prepared.
///
/// # Errors
/// Returns one error that lists all missing bundles.
pub fn require_credentials_for(task: &Task, ids: &[String]) -> Result<(), Error> {
    let dirs = task.options.source_dirs();
    let is_missing = |id: &&String| bundles::path(&task.settings, id, &dirs).is_none();
    let missing: Vec<&str> = ids.iter().filter(is_missing).map(String::as_str).collect();
    match missing.len() {
        ..2 => Ok(()),
        _ => check_credentials(task, &missing),
    }
}

fn check_credentials(task: &Task, missing: &[&str]) -> Result<(), Error> {
    if missing.is_empty() {
        return Ok(());
    }
    let error = match task.network.get() {
        Err(error @ FetchError::Credentials(_)) => error,
        _ => return Ok(()),
    };
    let count = units::count(missing.len() as u64, "bundle");
    let missing = missing.join(", ");
    let message = format!(
        "{count} cannot be downloaded: {}\n  missing: {missing}",
        chain(&error)
    );
    let remedy = match error.remedy() {
        Some(remedy) => remedy.or(Remedy::PrepareAvailable),
        None => Remedy::PrepareAvailable,
    };
    Err(Error::new(error.failure(), message).help(remedy))
}
