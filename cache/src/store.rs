//! The handle to a store, and the state that clones of the handle share.
//!
//! Before the store renames a complete file, it flushes the file only if other machines may share the file system
//! ([`is_shared`]). On such file systems, delayed writes often fail. Only `fsync` and `close` report these failures, and Rust
//! ignores errors of `close`.
//!
//! A *tier* is a second cache behind the store, with results that many machines share. An entry from the tier is stored
//! immediately, but its objects are fetched when they are first opened. Until then, an object is treated as present
//! unless [`Tier::may_have`] returns `false`.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, fs, io};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::layout::Bucket;
use crate::system::machine::{Stamp, create_directory, is_shared};
use crate::upkeep::stat;
use crate::{Digest, LedgerEntry, Permit, StoreError, Threads, Unwritable, free_space};

/// Backup and search programs skip a directory that contains the file `CACHEDIR.TAG`.
const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55\n\
# This directory is a cache of prep. You can delete it; prep will create it again.\n";

/// A content-addressed store in a directory. Cloning is cheap.
///
/// All calls may block, so do not use them on threads of an asynchronous runtime.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
    /// Threads that writers may use in addition to the calling thread. `None` means any number.
    threads: Option<Threads>,
    pub(crate) with_sha256: bool,
    pub(crate) tier: Option<Arc<dyn Tier>>,
    /// Bytes that have arrived of the objects that this handle is fetching from the tier.
    arriving: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    read_only: bool,
    /// The objects that this process has verified, with the stamps of their files at that time.
    verified: Mutex<HashMap<Digest, Stamp>>,
    /// SHA-256 of objects that this process wrote with `with_sha256`.
    sums: Mutex<HashMap<Digest, [u8; 32]>>,
    /// One lock for each object that a thread is verifying or fetching. Two threads never do this for the same object.
    verifying: Mutex<HashMap<Digest, Arc<Mutex<()>>>>,
    /// Link modes that do not work, by destination device.
    unsupported_modes: Mutex<HashSet<(u64, LinkMode)>>,
    /// For each device: whether other machines may see its file system.
    shared_devices: Mutex<HashMap<u64, bool>>,
}

impl Store {
    /// Opens or creates the store in `root`, and removes day-old temporary files of killed processes.
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
        let tag = store.root().join("CACHEDIR.TAG");
        if !tag.exists() {
            fs::write(&tag, CACHE_TAG)
                .map_err(|error| StoreError::io("write the tag of the cache", &tag, error))?;
        }
        drop(store.temp_file()?);
        stat::sweep(store.root(), false)?;
        Ok(store)
    }

    /// Opens the store in the directory `root` for reading only. Returns `None` if the store does not exist.
    ///
    /// The handle changes no file: it does not record uses of entries, and leaves damaged objects where they are.
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

    /// Same as [`open_existing`](Self::open_existing). But if the store does not exist, returns a handle that acts as
    /// an empty store.
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
            arriving: Arc::default(),
        }
    }

    /// Returns the directory for the member lists of bundles in the store `root`. The directory may not exist.
    pub fn bundle_lists(root: &Path) -> PathBuf {
        Bucket::Bundles.dir(root)
    }

    /// Returns the directory for the logs of runs in the store `root`. The directory may not exist.
    pub fn run_logs(root: &Path) -> PathBuf {
        Bucket::Runs.dir(root)
    }

    /// Adds those directories and locks to `found` that a run must write in the store `root`, but cannot write.
    pub fn examine(root: &Path, found: &mut Unwritable) {
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
    }

    /// Returns a handle whose writers take their additional threads from `threads`.
    #[must_use]
    pub fn with_threads(&self, threads: Threads) -> Store {
        Store {
            threads: Some(threads),
            ..self.clone()
        }
    }

    /// Returns a handle whose writers also compute the [SHA-256](Self::sha256) of an object.
    #[must_use]
    pub fn with_sha256(&self) -> Store {
        Store {
            with_sha256: true,
            ..self.clone()
        }
    }

    /// Returns whether writers of this handle also compute the SHA-256.
    pub fn computes_sha256(&self) -> bool {
        self.with_sha256
    }

    /// Returns the SHA-256 of an object that this process wrote with [`with_sha256`](Self::with_sha256). Returns `None` for
    /// other objects.
    pub fn sha256(&self, digest: &Digest) -> Option<[u8; 32]> {
        self.inner.sums.lock().get(digest).copied()
    }

    pub(crate) fn set_sha256(&self, digest: Digest, sum: [u8; 32]) {
        self.inner.sums.lock().insert(digest, sum);
    }

    /// Takes a thread for a writer, if one is free.
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

    /// Returns the directory for temporary files, on the store's file system. Files in it are removed after a day.
    pub fn temp_dir(&self) -> PathBuf {
        Bucket::Tmp.dir(self.root())
    }

    /// Returns whether this handle may only read.
    pub fn is_read_only(&self) -> bool {
        self.inner.read_only
    }

    /// Returns the length of an object in bytes without verifying the object. `None` if the object is not in the store.
    pub fn len_of(&self, digest: &Digest) -> Option<u64> {
        let found = self.object_path(digest).symlink_metadata().ok()?;
        found.is_file().then_some(found.len())
    }

    /// Returns the free bytes of the store's file system, if the system reports them.
    pub fn free_space(&self) -> Option<u64> {
        free_space(self.root())
    }

    /// Checks that the store's file system has at least `bytes` free bytes.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`] if it has fewer.
    pub fn require_space(&self, bytes: u64) -> Result<(), StoreError> {
        match self.free_space() {
            Some(free) if free < bytes => Err(StoreError::NoSpace {
                action: "write to the cache",
                path: self.root().to_path_buf(),
                needed: bytes,
                free: Some(free),
                lacks_inodes: false,
            }),
            _ => Ok(()),
        }
    }

    /// Returns the metadata of an object's file.
    ///
    /// # Errors
    /// If the object is missing or cannot be examined.
    pub fn metadata_of(&self, digest: &Digest) -> io::Result<fs::Metadata> {
        self.object_path(digest).symlink_metadata()
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

    /// Runs `work` while no other thread of this process runs this function for the same object.
    pub(crate) fn exclusively<T>(&self, digest: &Digest, work: impl FnOnce() -> T) -> T {
        let gate = Arc::clone(self.inner.verifying.lock().entry(*digest).or_default());
        let entered = gate.lock();
        let result = work();
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

    pub(crate) fn is_shared_device(&self, device: u64, is_shared: impl FnOnce() -> bool) -> bool {
        let mut devices = self.inner.shared_devices.lock();
        *devices.entry(device).or_insert_with(is_shared)
    }

    pub(crate) fn set_unsupported_mode(&self, device: u64, mode: LinkMode) {
        self.inner.unsupported_modes.lock().insert((device, mode));
    }
}

/// Writes `bytes` to `file`. Errors name the file `path`.
pub(crate) fn write_all(mut file: &File, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    file.write_all(bytes)
        .map_err(|error| StoreError::writing("write", path, bytes.len() as u64, error))
}

impl Store {
    /// Returns a handle that requests missing entries and objects from `tier`.
    #[must_use]
    pub fn with_tier(&self, tier: Arc<dyn Tier>) -> Store {
        let mut store = self.clone();
        store.tier = Some(tier);
        store
    }

    /// Returns a handle that adds to `arriving` the bytes of an object while it fetches the object from the tier. When the
    /// fetch ends, these bytes are subtracted again.
    #[must_use]
    pub fn with_arriving(&self, arriving: Arc<AtomicU64>) -> Store {
        let mut store = self.clone();
        store.arriving = arriving;
        store
    }

    /// Passes the local result that `offer` returns to the tier, if the store has a tier.
    pub fn offer(&self, offer: impl FnOnce() -> Offer) {
        if let Some(tier) = &self.tier {
            tier.offer(offer());
        }
    }

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

    /// Announces to the tier the lengths of those objects of `entry` that are not in the store.
    pub(crate) fn announce_lengths<R>(&self, entry: &LedgerEntry<R>) {
        let Some(tier) = &self.tier else { return };
        for (object, length) in entry.objects().zip(&entry.lengths) {
            if self.len_of(object).is_none() {
                tier.expect(object, *length);
            }
        }
    }

    pub(crate) fn may_be_in_tier(&self, digest: &Digest) -> bool {
        self.tier.as_ref().is_some_and(|tier| tier.may_have(digest))
    }

    /// Fetches an object from the tier. Returns `false` if the tier has no intact copy.
    pub(crate) fn fetch_from_tier(&self, digest: &Digest) -> Result<bool, StoreError> {
        let Some(tier) = &self.tier else {
            return Ok(false);
        };
        if self.is_read_only() || !tier.may_have(digest) {
            return Ok(false);
        }
        self.exclusively(digest, || {
            if self.len_of(digest).is_some() {
                return Ok(true);
            }
            let mut writer = self.writer()?;
            let path = self.object_path(digest);
            let mut counted = ArrivingWriter {
                inner: &mut writer,
                bytes: 0,
                arriving: &self.arriving,
            };
            let fetched = tier.fetch(digest, &mut counted);
            drop(counted);
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

    /// Flushes `file` if other machines may see its file system. `path` must be on the same file system. Returns the
    /// metadata of `file`.
    ///
    /// # Errors
    /// If written bytes did not reach the file server.
    pub fn confirm_written(&self, file: &File, path: &Path) -> io::Result<Metadata> {
        let metadata = file.metadata()?;
        if !self.is_shared_device(metadata.dev(), || is_shared(path)) {
            return Ok(metadata);
        }
        file.sync_data()?;
        file.metadata()
    }

    pub(crate) fn rename_into(&self, temp: NamedTempFile, path: &Path) -> Result<(), StoreError> {
        self.confirm_written(temp.as_file(), temp.path())
            .map_err(|source| StoreError::io("write", temp.path(), source))?;
        persist(temp, path).map_err(|source| StoreError::io("commit", path, source))
    }
}

/// Counts the written bytes until it is dropped.
struct ArrivingWriter<'a, W> {
    inner: W,
    bytes: u64,
    arriving: &'a AtomicU64,
}

impl<W: Write> Write for ArrivingWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.bytes += count as u64;
        self.arriving.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W> Drop for ArrivingWriter<'_, W> {
    fn drop(&mut self) {
        self.arriving.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Renames the file `temp` to `path`. Creates the directory of `path` if it is missing.
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
    let _ = temp.into_temp_path().keep();
    Ok(())
}

/// The way in which an object is published outside the store.
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
    /// All modes, cheapest first.
    pub const ALL: [LinkMode; 3] = [LinkMode::HardLink, LinkMode::Reflink, LinkMode::Copy];

    /// Returns the name in records and settings.
    pub const fn name(self) -> &'static str {
        match self {
            LinkMode::HardLink => "hardlink",
            LinkMode::Reflink => "reflink",
            LinkMode::Copy => "copy",
        }
    }

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

/// A second cache behind a store, with results that several machines share.
///
/// An implementation must limit its waiting time. It must report its errors to the user, because these methods do not return
/// them. After an error, the implementation must act as if it had no results.
pub trait Tier: Debug + Send + Sync {
    /// Returns the entry of a step key, if the tier has one that it trusts. `competition` is the id of the step's
    /// competition.
    fn entry(&self, key: &Digest, competition: &str) -> Option<LedgerEntry>;

    /// Announces the length of an object in bytes, which limits a later [`fetch`](Self::fetch).
    fn expect(&self, object: &Digest, length: u64);

    /// Returns `false` if it is known that the tier does not have this object. Sends no request.
    fn may_have(&self, object: &Digest) -> bool;

    /// Writes the bytes of an object to `to`, at most as many bytes as [`expect`](Self::expect) announced. The caller
    /// compares the bytes with the digest.
    ///
    /// Returns `false` if the tier could not deliver all bytes, even if some were written.
    ///
    /// # Errors
    /// If writing to `to` fails.
    fn fetch(&self, object: &Digest, to: &mut dyn Write) -> io::Result<bool>;

    /// Reports that the fetched bytes of an object did not match its digest.
    fn report_damaged(&self, object: &Digest);

    /// Offers a local result to other machines, without waiting.
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
    /// Objects that the step received as inputs. If `entry` also contains one of them, the step passed it on, and did not
    /// create it.
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

    /// A file system without free inodes may have free bytes.
    #[test]
    fn full_disk_error_has_units_and_names_missing_inodes() {
        for (free, lacks_inodes, expected) in [
            (Some(104_288_256), false, "104 MB free on its disk"),
            (Some(104_288_256), true, "0 inodes free on its disk"),
            (Some(9_999), false, "9999 bytes free on its disk"),
            (None, false, "an unknown number of bytes free on its disk"),
        ] {
            let error = StoreError::NoSpace {
                action: "write",
                path: "a".into(),
                needed: 0,
                free,
                lacks_inodes,
            };
            let text = error.to_string();
            assert_eq!(text, format!("no space left to write a: {expected}"));
        }
    }
}
