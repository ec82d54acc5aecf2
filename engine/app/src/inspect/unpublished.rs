//! Finds the outputs of a run that failed because an output does not have its published checksum. Such a run writes
//! nothing into the data directory, so its outputs are only in the cache.
//!
//! For an audit, these outputs are written into a scratch directory. No step runs.

use std::sync::Arc;

use prep_core::{Cancel, NullReporter};
use prep_spec::BASE_VARIANT;
use prep_steps::{PreparationRecord, RememberedOptions, Verify};
use tempfile::TempDir;

use crate::error::Error;
use crate::settings::Settings;
use crate::stages::origins::{UsedValue, origins};
use crate::stages::run::{CompetitionState, Run};
use crate::task::{PreparationOptions, Task};

/// Publishes the outputs of a failed run into a scratch data directory, and returns that directory.
///
/// Returns `None` if the bundle of the run is unknown or no longer on this machine, or if the cache lacks an output. Also
/// returns `None` for variants other than `v1`, because their outputs have no published checksums.
pub(super) fn publish(
    task: &Task,
    id: &str,
    failed: PreparationRecord,
) -> Result<Option<TempDir>, Error> {
    let Some(bundle) = failed.bundle.as_ref().map(|bundle| bundle.content.digest) else {
        return Ok(None);
    };
    if task.options.variant != BASE_VARIANT {
        return Ok(None);
    }
    let temp = task.settings.temp_dir();
    let failure = |error| Error::writing("create a directory in", &temp, &error);
    std::fs::create_dir_all(&temp).map_err(failure)?;
    let directory = tempfile::Builder::new().prefix("audit-").tempdir_in(&temp);
    let directory = directory.map_err(failure)?;
    let options = failed.options.clone();
    let source = options.source.clone().filter(|source| source.is_dir());
    let task = Task {
        settings: Settings {
            data_dir: directory.path().to_owned(),
            ..task.settings.clone()
        },
        options: PreparationOptions {
            download: false,
            remembered: RememberedOptions {
                source: source.or(Some(task.settings.data_dir.clone())),
                verify: Some(Verify::Nothing),
                ..options
            },
            recalls: false,
            scratch: Some(failed),
            ..task.options.clone()
        },
        ..task.clone()
    };
    let mut run = Run::begin(&task, &[id.to_owned()], &Cancel::default(), &|_| {})?;
    let all = &run.plan.all;
    let Some(competition) = all.competitions.first() else {
        return Ok(None);
    };
    // The file of the bundle may have been replaced since the failed run.
    let used = origins(all, competition, &run.context.store, |_| UsedValue::Current)?;
    let mut used = used.iter().filter(|origin| origin.is_bundle());
    if !used.any(|origin| origin.record.digest == bundle) {
        return Ok(None);
    }
    run.forbid_execution();
    let ended = run.run(Arc::new(NullReporter))?;
    Ok((ended.state_of(id) == CompetitionState::Prepared).then_some(directory))
}
