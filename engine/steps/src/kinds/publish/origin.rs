//! Records the origin of a published tree, which is known only at the end of the run that published it.

use std::path::Path;

use prep_cache::Digest;
use prep_core::StepError;
use prep_digests::DataOrigin;

use super::lock_file;
use super::manifest::Manifest;

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
    let home = data_dir.join(competition);
    let Some(_lock) = prep_cache::try_lock_file(&lock_file(&home))? else {
        return Ok(());
    };
    let manifest = Manifest::read(data_dir, competition).map_err(StepError::machine)?;
    let Some(mut manifest) = manifest.filter(|one| one.complete && one.key == *key) else {
        return Ok(());
    };
    let origin = match &manifest.origin {
        Some(before) => origin.or(before),
        None => origin,
    };
    manifest.origin = Some(origin);
    let written = manifest.write_with_old_time(&home);
    written.map_err(StepError::machine)
}
