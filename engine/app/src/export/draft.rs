//! The temporary directory of an export.
//!
//! It is next to the target, so that a rename completes the copy. The export removes it at the end. If an export was
//! killed, the next one removes its directory, because the lock in it is free.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use prep_cache::{LockGuard, try_lock_file};
use tempfile::TempDir;

const PREFIX: &str = ".prep-export-";
const LOCK: &str = "lock";

/// A directory that is removed when this value is dropped.
pub struct TemporaryCopy {
    dir: TempDir,
    _lock: Option<LockGuard>,
}

impl TemporaryCopy {
    /// Creates a temporary directory in `parent`, and removes those of killed exports.
    ///
    /// # Errors
    /// Returns an error if `parent` cannot be written.
    pub fn new(parent: &Path) -> io::Result<TemporaryCopy> {
        // Only one process may do this at a time, because a new directory without its lock looks abandoned. On file
        // systems without locks, this can go wrong, but only for a short time.
        let _parent_lock =
            File::open(parent).and_then(|directory| directory.lock().map(|()| directory));
        for left in temporary_directories(parent) {
            // If the directory cannot be removed, it only takes space.
            if let Ok(Some(_lock)) = try_lock_file(&left.join(LOCK)) {
                let _ = fs::remove_dir_all(&left);
            }
        }
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = try_lock_file(&dir.path().join(LOCK)).ok().flatten();
        Ok(TemporaryCopy { dir, _lock: lock })
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// Returns the directories of running and abandoned exports.
fn temporary_directories(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let drafts = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with(PREFIX) && entry.path().join(LOCK).is_file()
    });
    drafts.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_abandoned_temporary_directories_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let left = dir.path().join(".prep-export-left");
        fs::create_dir_all(left.join("made")).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        let other = dir.path().join(".prep-export-notes");
        fs::create_dir(&other).unwrap();
        let one = TemporaryCopy::new(dir.path()).unwrap();
        assert!(!left.exists() && other.exists());
        let two = TemporaryCopy::new(dir.path()).unwrap();
        assert!(one.join(LOCK).exists() && two.join(LOCK).exists());
        drop((one, two));
        let names: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }
}
