//! Records facts about a published tree that are known only after it was published: its origin, and how it was prepared.

use std::path::Path;

use prep_cache::Digest;
use prep_core::StepError;
use prep_digests::DataOrigin;

use super::lock_file;
use super::manifest::Manifest;
use super::preparation::PreparationRecord;

/// Records the origin of the tree that was published under `key`. Keeps facts that were recorded earlier for the same
/// tree. If another process is publishing, or has published another tree, nothing is recorded, because that process
/// records its own origin.
///
/// # Errors
/// If the manifest cannot be read or written.
pub fn record_origin(
    data_dir: &Path,
    competition: &str,
    key: &Digest,
    origin: DataOrigin,
) -> Result<(), StepError> {
    update(data_dir, competition, Some(key), |manifest| {
        let origin = match &manifest.origin {
            Some(before) => origin.or(before),
            None => origin,
        };
        manifest.origin = Some(origin);
    })
}

/// Records how a complete tree was prepared. `change` returns the record, given the earlier record of the same tree. If
/// `key` is given, nothing is recorded for a tree with a different key, as by [`record_origin`].
///
/// # Errors
/// If the manifest cannot be read or written.
pub fn record_preparation(
    data_dir: &Path,
    competition: &str,
    key: Option<&Digest>,
    change: impl FnOnce(Option<PreparationRecord>) -> PreparationRecord,
) -> Result<(), StepError> {
    update(data_dir, competition, key, |manifest| {
        manifest.preparation = Some(change(manifest.preparation.take()));
    })
}

fn update(
    data_dir: &Path,
    competition: &str,
    key: Option<&Digest>,
    change: impl FnOnce(&mut Manifest),
) -> Result<(), StepError> {
    let home = data_dir.join(competition);
    let Some(_lock) = prep_cache::try_lock_file(&lock_file(&home))? else {
        return Ok(());
    };
    let manifest = Manifest::read(data_dir, competition).map_err(StepError::machine)?;
    let is_same = |one: &Manifest| one.complete && key.is_none_or(|key| one.key == *key);
    let Some(mut manifest) = manifest.filter(is_same) else {
        return Ok(());
    };
    let before = manifest.clone();
    change(&mut manifest);
    match manifest == before {
        true => Ok(()),
        false => {
            let written = manifest.write_with_old_time(&home);
            written.map_err(StepError::machine)
        }
    }
}
