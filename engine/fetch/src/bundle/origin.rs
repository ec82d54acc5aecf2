//! Records the origin of a file in the data directory: `DATA/ID/sources/FILE.url`.
//!
//! A pipeline may change the URL of a file without changing its name. A file from the old URL is then not used for the
//! new one. A file without a record was put there by the user, and is used.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::FetchError;
use crate::resume::partial::with_suffix;

fn path(file: &Path) -> PathBuf {
    with_suffix(file, ".url")
}

/// Records the origin of a file that is about to be created.
pub(crate) fn record(file: &Path, origin: &str) -> Result<(), FetchError> {
    let path = path(file);
    if let Some(directory) = path.parent() {
        prep_cache::create_directory(directory)
            .map_err(|cause| FetchError::io("create the directory of", &path, cause))?;
    }
    fs::write(&path, format!("{origin}\n")).map_err(|cause| FetchError::io("write", &path, cause))
}

/// Returns whether the record of a file names a different origin.
pub(crate) fn differs(file: &Path, origin: &str) -> bool {
    fs::read_to_string(path(file)).is_ok_and(|recorded| recorded.trim_end() != origin)
}

/// Removes a file and its record.
pub(crate) fn remove(file: &Path) {
    // Errors are ignored: a file that remains has a record, so it is not used.
    let _ = fs::remove_file(file);
    let _ = fs::remove_file(path(file));
}
