//! Removes a publication, and counts the disk space that this frees. While it works, it holds the lock that
//! publications take.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::Serialize;

use super::examine::PublishedPaths;
use super::home::{ManifestError, PathSummary, TEMP_PREFIX, lock_file};
use super::listing::{LISTING_FILE, PublishedListing};
use super::manifest::{MANIFEST_FILE, Manifest};
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
        let deleted = match path.symlink_metadata() {
            _ if self.is_dry_run => Ok(()),
            Ok(found) if found.is_dir() => fs::remove_dir_all(path),
            _ => fs::remove_file(path),
        };
        match deleted {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            deleted => deleted.map_err(ManifestError::io("remove", path)),
        }
    }

    /// Removes the published files, the manifest and the listing of a competition, and temporary files that killed processes
    /// left. Also returns the files of other programs in the prepared directory. They are removed only if `with_unpublished`
    /// is true, and are then not returned. Returns `None` if another process is publishing.
    ///
    /// # Errors
    /// If a file cannot be examined or removed.
    pub fn remove_published(
        &mut self,
        data_dir: &Path,
        competition: &str,
        with_unpublished: bool,
    ) -> Result<Option<(RemovedFiles, PathSummary)>, ManifestError> {
        let home = data_dir.join(competition);
        let (mut removed, mut kept) = (RemovedFiles::default(), PathSummary::default());
        if !home.is_dir() {
            return Ok(Some((removed, kept)));
        }
        let lock = lock_file(&home);
        let _guard = match self.is_dry_run {
            true => None,
            false => match prep_cache::try_lock_at(&lock)? {
                None => return Ok(None),
                guard => guard,
            },
        };
        let prepared = home.join("prepared");
        let is_directory = prepared.is_dir() && !prepared.is_symlink();
        let published = match is_directory && !with_unpublished {
            true => Some(PublishedPaths {
                listing: PublishedListing::read(&home)?,
                manifest: Manifest::read(data_dir, competition)?,
            }),
            false => None,
        };
        // The manifest is removed first: without it, the remaining files are not treated as prepared, even if a later removal
        // fails.
        self.remove(&home.join(MANIFEST_FILE), &mut removed)?;
        match published {
            None => self.remove(&prepared, &mut removed)?,
            Some(published) => {
                let found = (&mut removed, &mut kept);
                self.remove_below(&prepared, Path::new(""), &published, found)?;
            }
        }
        let failed = ManifestError::io("examine", &home);
        for entry in home.read_dir().map_err(&failed)? {
            let name = entry.map_err(&failed)?.file_name();
            let is_ours = [LISTING_FILE, FAILED_FILE].iter().any(|own| name == *own);
            if is_ours || name.to_string_lossy().starts_with(TEMP_PREFIX) {
                self.remove(&home.join(name), &mut removed)?;
            }
        }
        if !self.is_dry_run {
            // Processes that wait for the lock notice that its file is gone.
            let _ = fs::remove_file(&lock);
        }
        Ok(Some((removed, kept)))
    }

    /// Removes the published files and directories below the directory `inner` of `prepared`, and `inner` itself if it is then
    /// empty. Removes links to published directories, but not the linked files. Adds all other files to `kept`.
    fn remove_below(
        &mut self,
        prepared: &Path,
        inner: &Path,
        published: &PublishedPaths,
        (removed, kept): (&mut RemovedFiles, &mut PathSummary),
    ) -> Result<(), ManifestError> {
        let path = prepared.join(inner);
        let failed = ManifestError::io("examine", &path);
        for entry in path.read_dir().map_err(&failed)? {
            let entry = entry.map_err(&failed)?;
            let kind = entry.file_type().map_err(&failed)?;
            let inner = inner.join(entry.file_name());
            let is_published = inner.to_str().is_some_and(|name| {
                published.has_file(name) || !kind.is_file() && published.has_directory(name)
            });
            match is_published {
                false => kept.add(&inner, kind.is_dir()),
                true if kind.is_dir() => {
                    self.remove_below(prepared, &inner, published, (removed, kept))?;
                }
                true => self.remove(&entry.path(), removed)?,
            }
        }
        if !self.is_dry_run {
            // Fails if other files stay.
            let _ = fs::remove_dir(&path);
        }
        Ok(())
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
