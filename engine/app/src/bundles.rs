//! Finds the bundle of a competition on this machine, and records the members of published bundles. Verbs that read bundles
//! without preparing, for example `audit`, use it.

use std::path::{Path, PathBuf};

use prep_audit::bundle::known;
use prep_cache::Store;
use prep_fetch::LocalBundle;

use crate::settings::Settings;

/// The bundle of `id` in one of these directories, else in the data directory.
pub(crate) fn local(settings: &Settings, id: &str, dirs: &[&Path]) -> LocalBundle {
    let dirs = [dirs, &[settings.data_dir.as_path()]].concat();
    LocalBundle::new(id, &dirs, None)
}

/// The path of that bundle, if it is there.
pub(crate) fn path(settings: &Settings, id: &str, dirs: &[&Path]) -> Option<PathBuf> {
    local(settings, id, dirs).path().map(Path::to_owned)
}

/// All bundles of a competition: there may be an older one besides the one in the data directory.
pub(crate) fn all(settings: &Settings, id: &str, dirs: &[&Path]) -> Vec<PathBuf> {
    let dirs = dirs.iter().copied().chain([settings.data_dir.as_path()]);
    let found = dirs.filter_map(|dir| {
        LocalBundle::new(id, &[dir], None)
            .path()
            .map(Path::to_owned)
    });
    found.collect()
}

/// The directory with the lists of members of bundles that have their published MD5.
pub(crate) fn member_lists(settings: &Settings) -> PathBuf {
    Store::bundle_lists(&settings.store_dir)
}

/// Records the members of a bundle that has its published MD5, for later audits. If that fails, an audit reports less, but nothing
/// wrong.
pub(crate) fn remember(settings: &Settings, id: &str, dirs: &[&Path], md5: &str) {
    if let Some(path) = path(settings, id, dirs) {
        let _ = known::remember(&member_lists(settings), md5, &path);
    }
}
