//! Finds the bundle of a competition on this machine, and records the members of published bundles. Used by verbs that
//! read bundles without preparing anything, for example `audit`.

use std::fs::File;
use std::path::{Path, PathBuf};

use prep_audit::bundle::known;
use prep_cache::Store;
use prep_core::{Failure, chain};
use prep_fetch::LocalBundle;
use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{ZipDirectory, ZipEntry};

use crate::error::Error;
use crate::settings::Settings;

/// Finds the bundle of `id` in one of `dirs`, otherwise in the data directory.
pub(crate) fn local(settings: &Settings, id: &str, dirs: &[&Path]) -> LocalBundle {
    let dirs = [dirs, &[settings.data_dir.as_path()]].concat();
    LocalBundle::new(id, &dirs, None)
}

/// Returns the path of the bundle of `id` in one of `dirs` or in the data directory, if it exists.
pub(crate) fn path(settings: &Settings, id: &str, dirs: &[&Path]) -> Option<PathBuf> {
    local(settings, id, dirs).path().map(Path::to_owned)
}

/// Returns all bundles of a competition. For example, `dirs` may contain an older bundle than the data directory.
pub(crate) fn all(settings: &Settings, id: &str, dirs: &[&Path]) -> Vec<PathBuf> {
    let dirs = dirs.iter().copied().chain([settings.data_dir.as_path()]);
    let bundles = dirs.map(|dir| LocalBundle::new(id, &[dir], None));
    let paths = bundles.filter_map(|bundle| bundle.path().map(Path::to_owned));
    paths.collect()
}

/// Opens a bundle. Returns its file, its length in bytes, and its members.
///
/// # Errors
/// Returns an error if the file cannot be read, or is not a zip archive.
pub(crate) fn list(
    path: &Path,
    limits: &DecodingLimits,
) -> Result<(File, u64, Vec<ZipEntry>), Error> {
    let failed = |error| Error::reading("read the bundle", path, &error);
    let file = File::open(path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    let listing = ZipDirectory::read(&file, 0..bytes, &limits.budget(bytes)).map_err(|error| {
        let message = format!("the bundle {}: {}", path.display(), chain(&error));
        Error::new(Failure::Input, message)
    })?;
    Ok((file, bytes, listing.entries()))
}

/// Returns the directory with member lists. It has one list for each bundle that had its published MD5.
pub(crate) fn member_lists(settings: &Settings) -> PathBuf {
    Store::bundle_lists(&settings.store_dir)
}

/// Records the members of a bundle that has its published MD5, for later audits. Failures are ignored: without the
/// list, an audit reports fewer findings, but no wrong ones.
pub(crate) fn remember(settings: &Settings, id: &str, dirs: &[&Path], md5: &str) {
    if let Some(path) = path(settings, id, dirs) {
        let _ = known::remember(&member_lists(settings), md5, &path);
    }
}
