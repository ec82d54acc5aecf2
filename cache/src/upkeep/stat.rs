//! Lists and counts the files of a store, and removes files that killed processes left.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use crate::layout::Bucket;
use crate::locks::file::{HOLDERS_SUFFIX, remove_unlocked};
use crate::locks::lease::{Lease, Mode};
use crate::{Digest, Store, StoreError};

/// Number and total length of some files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of files.
    pub files: u64,
    /// Total length in bytes, not the disk blocks used.
    pub bytes: u64,
}

impl Amount {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

/// Number and size of all files in a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStat {
    /// Objects.
    pub objects: Amount,
    /// Ledger entries, one per step key.
    pub ledger: Amount,
    /// Histories: one per competition, variant and target directory.
    pub history: Amount,
    /// Records of files outside the store.
    pub sources: Amount,
    /// Member lists of bundles.
    pub bundles: Amount,
    /// Files that are being written, or were left by a killed process.
    pub temporary: Amount,
    /// Damaged objects, which garbage collection removes after a day.
    pub quarantine: Amount,
    /// Free bytes on the store's file system, if the system reports them.
    pub free: Option<u64>,
    /// Directories that the current user may not list. Their files are not counted.
    pub unreadable: Vec<PathBuf>,
}

impl Store {
    /// Counts the files of the store and adds up their lengths. Reads no contents.
    ///
    /// # Errors
    /// If a directory cannot be listed.
    pub fn stat(&self) -> Result<StoreStat, StoreError> {
        let mut unreadable = Vec::new();
        let mut amount_of = |bucket| self.amount_of(bucket, &mut unreadable);
        Ok(StoreStat {
            objects: amount_of(Bucket::Objects)?,
            ledger: amount_of(Bucket::Ledger)?,
            history: amount_of(Bucket::History)?,
            sources: amount_of(Bucket::Sources)?,
            bundles: self.flat_amount_of(Bucket::Bundles)?,
            temporary: self.flat_amount_of(Bucket::Tmp)?,
            quarantine: self.quarantined()?,
            free: self.free_space(),
            unreadable,
        })
    }

    /// Counts the damaged objects in quarantine.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn quarantined(&self) -> Result<Amount, StoreError> {
        self.flat_amount_of(Bucket::Quarantine)
    }

    /// Returns the damaged objects in quarantine.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn quarantined_objects(&self) -> Result<BTreeSet<Digest>, StoreError> {
        let files = entries(&Bucket::Quarantine.dir(self.root()))?;
        // The name ends with the time at which the object was moved.
        let digests = files.iter().filter_map(|(name, _)| {
            let (digest, _) = name.rsplit_once('-')?;
            digest.parse().ok()
        });
        Ok(digests.collect())
    }

    fn amount_of(
        &self,
        bucket: Bucket,
        unreadable: &mut Vec<PathBuf>,
    ) -> Result<Amount, StoreError> {
        let listing = list_readable(self.root(), bucket)?;
        unreadable.extend(listing.unreadable.into_iter().map(|(path, _)| path));
        let files = listing.digests.iter();
        Ok(sum(files.map(|digest| bucket.file(self.root(), digest))))
    }

    /// Same as `amount_of`, for a bucket whose files are not in subdirectories.
    fn flat_amount_of(&self, bucket: Bucket) -> Result<Amount, StoreError> {
        let files = entries(&bucket.dir(self.root()))?;
        Ok(sum(files.into_iter().map(|(_, path)| path)))
    }
}

fn sum(files: impl Iterator<Item = PathBuf>) -> Amount {
    let mut amount = Amount::default();
    for metadata in files.filter_map(|path| path.symlink_metadata().ok()) {
        amount.add(metadata.len());
    }
    amount
}

#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Digests that form the file names, sorted.
    pub(crate) digests: Vec<Digest>,
    /// Files that no version of the store creates.
    pub(crate) foreign: Vec<PathBuf>,
    /// Directories that cannot be listed, for example because another user created them.
    pub(crate) unreadable: Vec<(PathBuf, StoreError)>,
}

/// Lists a bucket. Fails if one of its directories cannot be listed.
pub(crate) fn list(root: &Path, bucket: Bucket) -> Result<Listing, StoreError> {
    let mut listing = list_readable(root, bucket)?;
    match listing.unreadable.pop() {
        Some((_, error)) => Err(error),
        None => Ok(listing),
    }
}

/// Same as [`list`], but continues after a directory that cannot be listed.
pub(crate) fn list_readable(root: &Path, bucket: Bucket) -> Result<Listing, StoreError> {
    let mut listing = Listing::default();
    for (first, dir) in entries(&bucket.dir(root))? {
        if first.len() != 2 || !dir.is_dir() {
            listing.foreign.push(dir);
            continue;
        }
        let found = match entries(&dir) {
            Ok(found) => found,
            Err(error) => {
                listing.unreadable.push((dir, error));
                continue;
            }
        };
        for (rest, path) in found {
            match format!("{first}{rest}").parse() {
                Ok(digest) => listing.digests.push(digest),
                Err(_) => listing.foreign.push(path),
            }
        }
    }
    listing.digests.sort_unstable();
    listing.foreign.sort_unstable();
    Ok(listing)
}

/// Returns the names and paths of all files and directories in `dir`. Empty if `dir` does not exist. In a name that is
/// not UTF-8, replaces the invalid bytes. Only foreign files have such names.
pub(crate) fn entries(dir: &Path) -> Result<Vec<(String, PathBuf)>, StoreError> {
    let error = |source| StoreError::io("list", dir, source);
    let read = match fs::read_dir(dir) {
        Ok(read) => read,
        Err(source) if source.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(error(source)),
    };
    read.map(|entry| {
        let entry = entry?;
        Ok((
            entry.file_name().to_string_lossy().into_owned(),
            entry.path(),
        ))
    })
    .collect::<io::Result<_>>()
    .map_err(error)
}

/// Minimum age of a file that is removed as garbage. A younger file may be in use although it is not locked: its writer
/// may not have locked it yet, or the file system may not support locks.
pub(crate) const MIN_GARBAGE_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes temporary files that are older than a day and not locked. Returns their number. Keeps files that it cannot
/// remove, for example files of another user.
///
/// If `dry_run` is true, removes nothing. The returned number then includes locked files.
pub(crate) fn sweep(root: &Path, dry_run: bool) -> Result<usize, StoreError> {
    let now = SystemTime::now();
    let mut swept = 0;
    for (_, path) in entries(&Bucket::Tmp.dir(root))? {
        let is_old = path
            .symlink_metadata()
            .and_then(|metadata| metadata.modified())
            .is_ok_and(|modified| age(now, modified) >= MIN_GARBAGE_AGE);
        if is_old && (dry_run || remove_unlocked(&path).unwrap_or(false)) {
            swept += 1;
        }
    }
    Ok(swept)
}

/// Removes unlocked lock files, and the directories of leases that no process holds. If a process opened a lock file
/// before its removal, the process notices the removal and creates a new file.
pub(crate) fn sweep_locks(root: &Path) -> Result<(), StoreError> {
    let is_name = |name: &str| name.parse::<crate::Digest>().is_ok();
    for (name, path) in entries(&Bucket::Locks.dir(root))? {
        // The lock file `use` stays, because the garbage collector has locked it.
        if is_name(&name) {
            let _ = remove_unlocked(&path);
        } else if name.strip_suffix(HOLDERS_SUFFIX).is_some_and(is_name) {
            // Dropping the lease removes its directory if no other process uses it.
            drop(Lease::try_take(&path, Mode::Exclusive));
        }
    }
    Ok(())
}

pub(crate) fn age(now: SystemTime, then: SystemTime) -> Duration {
    now.duration_since(then).unwrap_or_default()
}
