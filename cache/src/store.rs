//! The handle to a store, and the state that clones of the handle share.
//!
//! # Complete files
//!
//! A file is written under a temporary name and renamed when it is complete. On a local disk, it is renamed without a flush.
//! Therefore a power failure or an I/O error of a delayed write may damage the file. The next reader detects the damage, and
//! the file is produced again (see the crate's documentation).
//!
//! On a file system that other machines share ([`is_shared`]), delayed writes often fail, for example because of a
//! quota or a full server. Only `fsync` and `close` report these errors, and Rust ignores the error of `close`.
//! Therefore the file is flushed on such file systems before it is renamed. NFS writes all data of a file back at
//! `close` anyway, so there the flush costs nothing extra.
//!
//! # Tiers
//!
//! A tier is a second cache behind the store. It contains results that many machines share.
//!
//! A store with a tier requests missing entries and objects from the tier, and stores them. Therefore callers of a store
//! do not have to know about the tier, and each entry or object is fetched at most once.
//!
//! An entry that comes from the tier is stored immediately, but its objects are fetched only when they are first opened.
//! Until then, an object is treated as present unless [`Tier::may_have`] returns `false`. If it cannot be fetched, opening
//! it returns [`StoreError::Missing`](crate::StoreError::Missing).

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::{fmt, fs, io};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::layout::Bucket;
use crate::system::machine::{Stamp, create_directory, is_shared};
use crate::upkeep::stat;
use crate::{Digest, LedgerEntry, Permit, StoreError, Threads, Unwritable, free_space};

/// The content of `CACHEDIR.TAG`. Backup and search programs skip a directory that contains this file.
const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55\n\
# This directory is a cache of prep. You can delete it; prep will create it again.\n";

/// A content-addressed store in a directory. Cloning is cheap. Clones share the set of objects that this process has
/// verified. All calls may block, so do not use them on threads of an asynchronous runtime.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
    /// Threads that writers may use in addition to the calling thread. `None` means no limit.
    threads: Option<Threads>,
    /// Whether writers compute SHA-256 as well.
    pub(crate) with_sha256: bool,
    /// The tier from which missing results are requested.
    pub(crate) tier: Option<Arc<dyn Tier>>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    read_only: bool,
    /// Stamps of the objects that this process has verified.
    verified: Mutex<HashMap<Digest, Stamp>>,
    /// SHA-256 of objects that this process wrote with SHA-256 enabled.
    sums: Mutex<HashMap<Digest, [u8; 32]>>,
    /// One lock for each object that a thread is verifying. If several threads open the same large object at the same time,
    /// only one of them hashes it, and the others wait.
    verifying: Mutex<HashMap<Digest, Arc<Mutex<()>>>>,
    /// Link modes that do not work, by destination device.
    unsupported_modes: Mutex<HashSet<(u64, LinkMode)>>,
    /// For each device: whether other machines may see its file system.
    shared_devices: Mutex<HashMap<u64, bool>>,
}

impl Store {
    /// Opens the store in the directory `root`. Creates the store if it does not exist. Also removes temporary files of
    /// killed processes that are older than a day.
    ///
    /// # Errors
    /// If the directory cannot be created or written.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        for bucket in Bucket::ALL {
            let dir = bucket.dir(root);
            create_directory(&dir)
                .map_err(|error| StoreError::io("create the cache directory", &dir, error))?;
        }
        let store = Self::open_root(root, false)?;
        // Writing the tag shows that the directory is writable. If the tag exists already, creating the temporary file below
        // shows it.
        let tag = store.root().join("CACHEDIR.TAG");
        if !tag.exists() {
            fs::write(&tag, CACHE_TAG)
                .map_err(|error| StoreError::io("write the tag of the cache", &tag, error))?;
        }
        drop(store.temp_file()?);
        stat::sweep(store.root(), false)?;
        Ok(store)
    }

    /// Opens the store in the directory `root` for reading only. Returns `None` if the store does not exist. The handle
    /// never creates, changes or removes files: its lookups are not recorded as uses of entries, and damaged objects are
    /// reported but not moved to quarantine.
    ///
    /// # Errors
    /// If the directory exists but cannot be examined.
    pub fn open_existing(root: &Path) -> Result<Option<Self>, StoreError> {
        let objects = Bucket::Objects.dir(root);
        match objects.metadata() {
            Ok(_) => Self::open_root(root, true).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io("open the cache", &objects, error)),
        }
    }

    /// Same as [`open_existing`](Self::open_existing). However, if the store does not exist, the returned handle acts
    /// as an empty store and creates no files.
    ///
    /// # Errors
    /// If the directory exists but cannot be examined.
    pub fn open_or_empty(root: &Path) -> Result<Self, StoreError> {
        let existing = Self::open_existing(root)?;
        Ok(existing.unwrap_or_else(|| Self::new(root.to_path_buf(), true)))
    }

    fn open_root(root: &Path, read_only: bool) -> Result<Self, StoreError> {
        let root = root
            .canonicalize()
            .map_err(|error| StoreError::io("open the cache", root, error))?;
        Ok(Self::new(root, read_only))
    }

    fn new(root: PathBuf, read_only: bool) -> Self {
        let inner = Inner {
            root,
            read_only,
            verified: Mutex::default(),
            sums: Mutex::default(),
            verifying: Mutex::default(),
            unsupported_modes: Mutex::default(),
            shared_devices: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
            threads: None,
            with_sha256: false,
            tier: None,
        }
    }

    /// Returns the directory of the store `root` that contains the member lists of bundles. The name of each list is the
    /// bundle's MD5. The directory may not exist.
    pub fn bundle_lists(root: &Path) -> PathBuf {
        Bucket::Bundles.dir(root)
    }

    /// Returns the directory for logs of runs in the store `root`. The directory may be missing.
    pub fn run_logs(root: &Path) -> PathBuf {
        Bucket::Runs.dir(root)
    }

    /// Finds directories and locks of the store `root` that a run must write, but that the current user cannot write.
    /// Another user of the same store may have created them.
    pub fn unwritable(root: &Path) -> Unwritable {
        let mut found = Unwritable::default();
        found.examine(root);
        for bucket in Bucket::ALL {
            // Directories inside these two buckets belong to one process each.
            let is_private = matches!(bucket, Bucket::Tmp | Bucket::Quarantine);
            found.examine_directories(&bucket.dir(root), usize::from(!is_private));
        }
        let locks = fs::read_dir(Bucket::Locks.dir(root));
        for lock in locks.into_iter().flatten().flatten() {
            found.examine(&lock.path());
        }
        found
    }

    /// Returns a handle to the same store whose writers take their additional threads from `threads`.
    #[must_use]
    pub fn with_threads(&self, threads: Threads) -> Store {
        Store {
            threads: Some(threads),
            ..self.clone()
        }
    }

    /// Returns a handle to the same store whose writers also compute the SHA-256 of the bytes they write. See
    /// [`sha256`](Self::sha256).
    #[must_use]
    pub fn with_sha256(&self) -> Store {
        Store {
            with_sha256: true,
            ..self.clone()
        }
    }

    /// Returns whether writers also compute the SHA-256 of the bytes they write.
    pub fn computes_sha256(&self) -> bool {
        self.with_sha256
    }

    /// Returns the SHA-256 of an object, so that the caller need not read the object again. `None` unless this process wrote
    /// the object with SHA-256 enabled.
    pub fn sha256(&self, digest: &Digest) -> Option<[u8; 32]> {
        self.inner.sums.lock().get(digest).copied()
    }

    pub(crate) fn set_sha256(&self, digest: Digest, sum: [u8; 32]) {
        self.inner.sums.lock().insert(digest, sum);
    }

    /// Takes one more thread from the budget. Returns `None` if all threads are in use.
    pub(crate) fn thread(&self) -> Option<Permit> {
        match &self.threads {
            Some(threads) => threads.try_take(),
            None => Threads::new(1).try_take(),
        }
    }

    /// Returns the store's directory.
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// Returns the directory for temporary files. It is on the store's file system. Files that remain in it are removed
    /// after a day.
    pub fn temp_dir(&self) -> PathBuf {
        Bucket::Tmp.dir(self.root())
    }

    /// Returns whether this handle may only read.
    pub fn is_read_only(&self) -> bool {
        self.inner.read_only
    }

    /// Returns the length of an object in bytes, without reading or verifying the object. `None` if the object is not in the
    /// store.
    pub fn len_of(&self, digest: &Digest) -> Option<u64> {
        let found = self.object_path(digest).symlink_metadata().ok()?;
        found.is_file().then_some(found.len())
    }

    /// Returns the bytes that can still be written to the store's file system, if the system reports them.
    pub fn free_space(&self) -> Option<u64> {
        free_space(self.root())
    }

    /// Checks that the file system has at least `bytes` free bytes. Call this before writing a large amount of data.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`] if fewer than `bytes` bytes are free.
    pub fn require_space(&self, bytes: u64) -> Result<(), StoreError> {
        match self.free_space() {
            Some(free) if free < bytes => Err(StoreError::NoSpace {
                action: "write to the cache",
                path: self.root().to_path_buf(),
                needed: bytes,
                free: Some(free),
                is_outside: false,
            }),
            _ => Ok(()),
        }
    }

    pub(crate) fn object_path(&self, digest: &Digest) -> PathBuf {
        Bucket::Objects.file(self.root(), digest)
    }

    pub(crate) fn must_be_writable(&self) -> Result<(), StoreError> {
        if self.inner.read_only {
            return Err(StoreError::ReadOnlyHandle {
                root: self.inner.root.clone(),
            });
        }
        Ok(())
    }

    pub(crate) fn is_verified(&self, digest: &Digest, stamp: Stamp) -> bool {
        self.inner.verified.lock().get(digest) == Some(&stamp)
    }

    pub(crate) fn set_verified(&self, digest: Digest, stamp: Stamp) {
        self.inner.verified.lock().insert(digest, stamp);
    }

    pub(crate) fn forget_verified(&self, digest: &Digest) {
        self.inner.verified.lock().remove(digest);
    }

    /// Runs `verify` while no other thread verifies the same object.
    pub(crate) fn exclusively<T>(&self, digest: &Digest, verify: impl FnOnce() -> T) -> T {
        let gate = Arc::clone(self.inner.verifying.lock().entry(*digest).or_default());
        let entered = gate.lock();
        let result = verify();
        self.inner.verifying.lock().remove(digest);
        drop(entered);
        result
    }

    pub(crate) fn is_unsupported_mode(&self, device: u64, mode: LinkMode) -> bool {
        self.inner
            .unsupported_modes
            .lock()
            .contains(&(device, mode))
    }

    /// Calls `is_shared` once per device and caches its result.
    pub(crate) fn is_shared_device(&self, device: u64, is_shared: impl FnOnce() -> bool) -> bool {
        let mut devices = self.inner.shared_devices.lock();
        *devices.entry(device).or_insert_with(is_shared)
    }

    pub(crate) fn set_unsupported_mode(&self, device: u64, mode: LinkMode) {
        self.inner.unsupported_modes.lock().insert((device, mode));
    }
}

/// Writes `bytes` to `file`. `path` is the path of the file in error messages.
pub(crate) fn write_all(mut file: &File, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    file.write_all(bytes)
        .map_err(|error| StoreError::writing("write", path, bytes.len() as u64, error))
}

impl Store {
    /// Returns a handle to the same store that requests missing entries and objects from `tier`.
    #[must_use]
    pub fn with_tier(&self, tier: Arc<dyn Tier>) -> Store {
        let mut store = self.clone();
        store.tier = Some(tier);
        store
    }

    /// Offers a local result to the tier, if the store has a tier. `offer` is called only in this case.
    pub fn offer(&self, offer: impl FnOnce() -> Offer) {
        if let Some(tier) = &self.tier {
            tier.offer(offer());
        }
    }

    /// Queries the tier for the entry of a step key, and stores the entry that it returns.
    pub(crate) fn lookup_in_tier(
        &self,
        key: &Digest,
        competition: &str,
    ) -> Result<Option<LedgerEntry>, StoreError> {
        let Some(tier) = &self.tier else {
            return Ok(None);
        };
        let Some(entry) = tier.entry(key, competition) else {
            return Ok(None);
        };
        self.announce_lengths(&entry);
        if !self.is_read_only() {
            self.record(key, &entry)?;
        }
        Ok(Some(entry))
    }

    /// Passes the lengths of the entry's objects to the tier, if the objects are not in this store.
    pub(crate) fn announce_lengths(&self, entry: &LedgerEntry) {
        let Some(tier) = &self.tier else { return };
        for (object, length) in entry.objects().zip(&entry.lengths) {
            if self.len_of(object).is_none() {
                tier.expect(object, *length);
            }
        }
    }

    /// Returns whether the tier may have this object.
    pub(crate) fn may_be_in_tier(&self, digest: &Digest) -> bool {
        self.tier.as_ref().is_some_and(|tier| tier.may_have(digest))
    }

    /// Fetches an object from the tier. Returns `false` if it cannot be fetched.
    pub(crate) fn fetch_from_tier(&self, digest: &Digest) -> Result<bool, StoreError> {
        let Some(tier) = &self.tier else {
            return Ok(false);
        };
        if self.is_read_only() || !tier.may_have(digest) {
            return Ok(false);
        }
        self.exclusively(digest, || {
            // Another thread may have fetched the object in the meantime.
            if self.len_of(digest).is_some() {
                return Ok(true);
            }
            let mut writer = self.writer()?;
            let path = self.object_path(digest);
            let fetched = tier.fetch(digest, &mut writer);
            if !fetched.map_err(|error| StoreError::io("write", &path, error))? {
                return Ok(false);
            }
            let is_right = writer.commit_as(digest)?;
            if !is_right {
                tier.report_damaged(digest);
            }
            Ok(is_right)
        })
    }

    /// Flushes `file` if other machines may see its file system, because such file systems may report write errors only when
    /// a file is flushed. `path` is any path on that file system. Returns the metadata of the file.
    ///
    /// # Errors
    /// If bytes that were written did not reach the server.
    pub fn confirm_written(&self, file: &File, path: &Path) -> io::Result<Metadata> {
        let metadata = file.metadata()?;
        if !self.is_shared_device(metadata.dev(), || is_shared(path)) {
            return Ok(metadata);
        }
        file.sync_data()?;
        file.metadata()
    }

    /// Renames the complete file `temp` to `path`. Creates the directory of `path` if it is missing.
    pub(crate) fn rename_into(&self, temp: NamedTempFile, path: &Path) -> Result<(), StoreError> {
        self.confirm_written(temp.as_file(), temp.path())
            .map_err(|source| StoreError::io("write", temp.path(), source))?;
        persist(temp, path).map_err(|source| StoreError::io("commit", path, source))
    }
}

/// Renames the file `temp` to `path`. The directory of `path` usually exists, so it is created only if the first attempt
/// fails.
///
/// # Errors
/// If the file cannot be renamed. The temporary file is then removed.
pub fn persist(temp: NamedTempFile, path: &Path) -> io::Result<()> {
    let rename = || fs::rename(temp.path(), path);
    rename().or_else(|failed| match path.parent() {
        Some(parent) if failed.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(parent)?;
            rename()
        }
        _ => Err(failed),
    })?;
    // The temporary name no longer exists, so there is nothing to remove on drop.
    let _ = temp.into_temp_path().keep();
    Ok(())
}

/// The way in which an object is published outside the store. Cheaper ways come first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum LinkMode {
    /// A hard link: another name of the store's file.
    #[default]
    HardLink,
    /// A new file that shares its disk blocks with the store's file (Btrfs, XFS, bcachefs).
    Reflink,
    /// A new file with its own blocks.
    Copy,
}

impl LinkMode {
    /// All ways, cheapest first.
    pub const ALL: [LinkMode; 3] = [LinkMode::HardLink, LinkMode::Reflink, LinkMode::Copy];

    /// Returns the name that records and settings use.
    pub const fn name(self) -> &'static str {
        match self {
            LinkMode::HardLink => "hardlink",
            LinkMode::Reflink => "reflink",
            LinkMode::Copy => "copy",
        }
    }

    /// Returns the next mode to try after this one.
    pub(crate) fn next(self) -> Option<Self> {
        match self {
            Self::HardLink => Some(Self::Reflink),
            Self::Reflink => Some(Self::Copy),
            Self::Copy => None,
        }
    }
}

impl fmt::Display for LinkMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for LinkMode {
    type Err = String;

    fn from_str(text: &str) -> Result<LinkMode, String> {
        let mut all = LinkMode::ALL.into_iter();
        all.find(|mode| mode.name() == text)
            .ok_or_else(|| "expected hardlink, reflink or copy".to_owned())
    }
}

/// A second cache behind a store, which contains results that several machines share. An implementation limits how long it
/// waits, and reports its own errors. After an error, it behaves as if it contained no results.
pub trait Tier: Debug + Send + Sync {
    /// Returns the entry of a step key, if the tier has an entry that can be trusted. `competition` is the id of the
    /// competition to which the step belongs.
    fn entry(&self, key: &Digest, competition: &str) -> Option<LedgerEntry>;

    /// Passes the length of an object in bytes to the tier, before the store fetches the object. The length comes from a
    /// trusted entry. [`fetch`](Self::fetch) uses it as a limit.
    fn expect(&self, object: &Digest, length: u64);

    /// Returns `false` if the tier is known not to have this object. Sends no request.
    fn may_have(&self, object: &Digest) -> bool;

    /// Writes the bytes of an object to `to`, but at most the number that was passed to [`expect`](Self::expect). Returns
    /// `false` if the object cannot be fetched completely, even if some bytes were written. The caller compares the bytes
    /// with the digest.
    ///
    /// # Errors
    /// If writing to `to` fails. Errors of the tier itself are not returned.
    fn fetch(&self, object: &Digest, to: &mut dyn Write) -> io::Result<bool>;

    /// Reports that the bytes fetched for an object did not match its digest.
    fn report_damaged(&self, object: &Digest);

    /// Offers a local result to other machines. Returns immediately.
    fn offer(&self, offer: Offer);
}

/// A local result that other machines may use.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The step's key.
    pub key: Digest,
    /// The ledger entry of the key.
    pub entry: LedgerEntry,
    /// Id of the competition.
    pub competition: String,
    /// Name of the step within its competition.
    pub step: String,
    /// Objects of the entry that were inputs of the step. The step produced the other objects of the entry.
    pub given: Vec<Digest>,
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn full_disk_error_states_the_bytes_needed() -> std::io::Result<()> {
        let path = Path::new("/dev/full");
        if !path.exists() {
            return Ok(());
        }
        let full = OpenOptions::new().write(true).open(path)?;
        match write_all(&full, path, &[1; 5000]) {
            Err(error @ StoreError::NoSpace { needed: 5000, .. }) => {
                let text = error.to_string();
                assert!(text.starts_with("no space left to write /dev/full: 5000 bytes needed"));
                assert_eq!(error.into_io().kind(), ErrorKind::StorageFull);
            }
            other => panic!("expected NoSpace, got {other:?}"),
        }
        Ok(())
    }
}
