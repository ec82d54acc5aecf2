//! Removes a publication, and counts the disk space that this frees. While it works, it holds the lock that
//! publications take.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::Serialize;

use super::home::{ManifestError, lock_file};
use super::listing::LISTING_FILE;
use super::manifest::MANIFEST_FILE;
use super::preparation::FAILED_FILE;

/// The files that a [`Remover`] removed, or in a dry run would remove.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RemovedFiles {
    /// Number of files.
    pub files: u64,
    /// Total size in bytes.
    pub bytes: u64,
    /// Bytes of disk space that are freed. A file with hard links elsewhere still occupies space.
    pub freed_bytes: u64,
}

impl RemovedFiles {
    /// Adds the files of `other`.
    pub fn add(&mut self, other: RemovedFiles) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.freed_bytes += other.freed_bytes;
    }
}

/// Removes files and directories. In a dry run, only counts them.
#[derive(Debug, Default)]
pub struct Remover {
    is_dry_run: bool,
    /// For each file with several hard links, by device and inode: the number of links that remain.
    links: HashMap<(u64, u64), u64>,
}

impl Remover {
    /// Creates a remover that has removed nothing yet.
    pub fn new(is_dry_run: bool) -> Remover {
        Remover {
            is_dry_run,
            links: HashMap::new(),
        }
    }

    /// Counts the removal of one hard link. Returns the bytes that this frees: 0 unless it is the last link of the file.
    pub fn unlink(&mut self, file: &Metadata) -> u64 {
        if file.nlink() > 1 {
            let links = self.links.entry((file.dev(), file.ino()));
            let links = links.or_insert_with(|| file.nlink());
            *links = links.saturating_sub(1);
            if *links > 0 {
                return 0;
            }
        }
        file.len()
    }

    /// Removes a file or directory, if it exists, and adds its files to `removed`.
    ///
    /// # Errors
    /// If a file cannot be examined or removed.
    pub fn remove(&mut self, path: &Path, removed: &mut RemovedFiles) -> Result<(), ManifestError> {
        self.count(path, removed)?;
        self.delete(path)
    }

    /// Removes the prepared directory, the manifest and the listing of a competition. Returns `None` if another process is
    /// publishing.
    ///
    /// # Errors
    /// If a file cannot be examined or removed.
    pub fn remove_published(
        &mut self,
        data_dir: &Path,
        competition: &str,
    ) -> Result<Option<RemovedFiles>, ManifestError> {
        let home = data_dir.join(competition);
        let mut removed = RemovedFiles::default();
        let lock = lock_file(&home);
        // Without the manifest, the other files are not treated as prepared, even if their removal fails.
        let names = [MANIFEST_FILE, "prepared", LISTING_FILE, FAILED_FILE];
        let paths = names.map(|name| home.join(name));
        for path in paths.iter().chain([&lock]) {
            self.count(path, &mut removed)?;
        }
        if self.is_dry_run || !home.is_dir() {
            return Ok(Some(removed));
        }
        let Some(_guard) = prep_cache::try_lock_at(&lock)? else {
            return Ok(None);
        };
        // The lock file can be deleted, too: processes that wait for the lock notice that its file is gone.
        for path in paths.iter().chain([&lock]) {
            self.delete(path)?;
        }
        Ok(Some(removed))
    }

    fn delete(&self, path: &Path) -> Result<(), ManifestError> {
        let removed = match path.symlink_metadata() {
            _ if self.is_dry_run => Ok(()),
            Ok(found) if found.is_dir() => fs::remove_dir_all(path),
            _ => fs::remove_file(path),
        };
        match removed {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(ManifestError::io("remove", path)),
        }
    }

    fn count(&mut self, path: &Path, removed: &mut RemovedFiles) -> Result<(), ManifestError> {
        let failed = ManifestError::io("examine", path);
        let found = match path.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        if !found.is_dir() {
            removed.add(RemovedFiles {
                files: 1,
                bytes: found.len(),
                freed_bytes: self.unlink(&found),
            });
            return Ok(());
        }
        for entry in path.read_dir().map_err(&failed)? {
            self.count(&entry.map_err(&failed)?.path(), removed)?;
        }
        Ok(())
    }
}
