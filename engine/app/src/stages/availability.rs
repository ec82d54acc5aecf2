//! Handles missing bundles before any step runs: leaves competitions out on request, and reports missing credentials as
//! one error.

use std::collections::HashSet;

use prep_cache::Store;
use prep_core::{Remedy, StepOutcome, chain, units};
use prep_fetch::FetchError;

use super::assemble::Competition;
use super::ended::Ended;
use super::recorded::cached_bundle;
use super::resolve::Plan;
use crate::bundles;
use crate::error::Error;
use crate::task::Task;

/// Removes competitions with a missing bundle or source from `ids`, if the task prepares only available competitions.
/// Returns the removed ids.
pub(crate) fn leave_out(task: &Task, plan: &Plan, ids: &mut Vec<String>) -> Vec<String> {
    if !task.options.available_only {
        return Vec::new();
    }
    let missing: HashSet<&str> = plan.without_sources();
    let (absent, rest) = std::mem::take(ids)
        .into_iter()
        .partition(|id| missing.contains(id.as_str()));
    *ids = rest;
    absent
}

/// Returns the competitions that turned out to be unavailable while they ran: a step needed the bytes of a source that is
/// not on this machine. Their other sources and steps did not fail.
pub(super) fn left_out_while_running(ended: &Ended) -> Vec<String> {
    let ids = ended.competitions.iter().map(|one| &one.id);
    let is_left_out = |id: &&String| {
        let outcomes = ended.outcomes_of(id);
        let mut failed = outcomes
            .filter(|(_, _, outcome)| matches!(outcome, StepOutcome::Failed { .. }))
            .map(|(_, node, _)| ended.watch.is_optional(id, &node.name))
            .peekable();
        failed.peek().is_some() && failed.all(|is_optional| is_optional)
    };
    ids.filter(is_left_out).cloned().collect()
}

/// Fails if several competitions are selected, bundles are missing and there are no credentials to download them. For a
/// single competition, the step of its bundle reports the same error, with the directories that were searched.
///
/// # Errors
/// Returns one error that lists all missing bundles.
pub(crate) fn require_credentials(task: &Task, plan: &Plan, store: &Store) -> Result<(), Error> {
    let missing = plan
        .missing()
        .into_iter()
        .filter(|input| input.source.is_none());
    let missing: Vec<&Competition> = missing.map(|input| input.competition).collect();
    if plan.competitions.len() < 2 {
        return Ok(());
    }
    let has_results = |one: &&Competition| {
        let cached = cached_bundle(store, &one.id, one.md5.as_deref());
        cached.is_ok_and(|cached| cached.is_some())
    };
    let ids: Vec<&str> = missing.iter().map(|one| one.id.as_str()).collect();
    check_credentials(task, &ids).map_err(|error| match &error.help {
        Some(help) if missing.iter().any(has_results) => {
            let help = help.clone().or(Remedy::UseCachedResults);
            error.help(help)
        }
        _ => error,
    })
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
