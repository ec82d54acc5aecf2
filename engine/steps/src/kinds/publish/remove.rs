//! Removes a publication, while holding the lock that publications take.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::home::{ManifestError, lock_file};
use super::listing::LISTING_FILE;
use super::manifest::MANIFEST_FILE;
use super::preparation::FAILED_FILE;

/// The files that [`remove_published`] removes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemovedFiles {
    /// Number of files.
    pub files: u64,
    /// Total size in bytes.
    pub bytes: u64,
}

/// Removes the prepared directory, the manifest and the listing of a competition. Returns `None` if another process is
/// publishing. If `dry_run` is true, counts the files without removing them.
pub fn remove_published(
    data_dir: &Path,
    competition: &str,
    dry_run: bool,
) -> Result<Option<RemovedFiles>, ManifestError> {
    let home = data_dir.join(competition);
    let mut removed = RemovedFiles::default();
    let lock = lock_file(&home);
    // Without the manifest, the other files are not treated as prepared, even if their removal fails.
    let paths = [MANIFEST_FILE, "prepared", LISTING_FILE, FAILED_FILE].map(|name| home.join(name));
    for path in paths.iter().chain([&lock]) {
        removed.add(path)?;
    }
    if dry_run || !home.is_dir() {
        return Ok(Some(removed));
    }
    let Some(_guard) = prep_cache::try_lock_at(&lock)? else {
        return Ok(None);
    };
    for path in &paths {
        delete(path)?;
    }
    // Processes that wait for the lock notice that its file is gone.
    delete(&lock)?;
    Ok(Some(removed))
}

fn delete(path: &PathBuf) -> Result<(), ManifestError> {
    let removed = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        _ => fs::remove_file(path),
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(ManifestError::io("remove", path)),
    }
}

impl RemovedFiles {
    fn add(&mut self, path: &Path) -> Result<(), ManifestError> {
        let failed = ManifestError::io("examine", path);
        let found = match path.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        if !found.is_dir() {
            self.files += 1;
            self.bytes += found.len();
            return Ok(());
        }
        for entry in path.read_dir().map_err(&failed)? {
            self.add(&entry.map_err(&failed)?.path())?;
        }
        Ok(())
    }
}
