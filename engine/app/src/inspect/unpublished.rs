//! Finds the outputs of a run that published nothing because an output does not have its published checksum.
//!
//! The cache contains these outputs. They are published into a scratch directory, where an audit can read them. No step
//! runs for that.

use std::sync::Arc;

use prep_core::{Action, Cancel, NullReporter};
use prep_spec::BASE_VARIANT;
use prep_steps::{RememberedOptions, Verify};
use tempfile::TempDir;

use crate::error::Error;
use crate::prepared;
use crate::settings::Settings;
use crate::stages::contents;
use crate::stages::resolve::Plan;
use crate::stages::run::{CompetitionState, Run};
use crate::task::{PreparationOptions, Task};

/// Publishes the current outputs of a competition into a scratch data directory. Returns this directory, which is removed
/// when it is dropped. Returns `None` if the outputs are already published in the data directory, or if some outputs are
/// not in the cache.
///
/// # Errors
/// Returns an error if the cache cannot be read, or the scratch directory cannot be written.
pub(super) fn publish(task: &Task, id: &str) -> Result<Option<TempDir>, Error> {
    let record = contents::read(task, id)?;
    let (options, _) = task.options.recalling(&record.options);
    let task = Task {
        options: PreparationOptions {
            from_cache: true,
            download: false,
            remembered: RememberedOptions {
                verify: Some(Verify::Nothing),
                ..options.remembered
            },
            recalls: false,
            ..options
        },
        ..task.clone()
    };
    if !is_unpublished(&task, id)? {
        return Ok(None);
    }
    let temp = task.settings.temp_dir();
    let directory = tempfile::Builder::new().prefix("audit-").tempdir_in(&temp);
    let directory =
        directory.map_err(|error| Error::writing("create a directory in", &temp, &error))?;
    let task = Task {
        settings: Settings {
            data_dir: directory.path().to_owned(),
            ..task.settings
        },
        options: PreparationOptions {
            is_scratch: true,
            ..task.options
        },
        ..task
    };
    let mut run = Run::begin(&task, &[id.to_owned()], &Cancel::default(), &|_| {})?;
    run.forbid_execution();
    let ended = run.run(Arc::new(NullReporter))?;
    Ok((ended.state_of(id) == CompetitionState::Prepared).then_some(directory))
}

/// Returns whether the current outputs are in the cache, but not published in the data directory. This is the case after a
/// run that failed a check. Then the data directory contains no outputs, or the outputs of an earlier run.
fn is_unpublished(task: &Task, id: &str) -> Result<bool, Error> {
    if task.options.variant != BASE_VARIANT {
        return Ok(false);
    }
    let is_published = task.settings.prepared_dir(id).is_dir();
    if is_published && prepared::failed_check(&task.settings, BASE_VARIANT, id)?.is_none() {
        return Ok(false);
    }
    let plan = Plan::preview(task, &[id.to_owned()])?;
    let work = plan.resolution.work.keys();
    let mut work = work.map(|node| plan.all.graph.node(*node));
    Ok(work.len() > 0 && work.all(|node| matches!(node.action, Action::Sink(_))))
}
