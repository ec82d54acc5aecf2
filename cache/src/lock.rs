//! Advisory locks between processes and between threads.
//!
//! A lock belongs to the open file, so two guards of one process exclude each
//! other as well. The operating system drops it when its process dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::layout::Bucket;
use crate::{Digest, Store, StoreError};

/// Holds a lock until it is dropped.
#[derive(Debug)]
#[must_use = "the lock is given back when the guard is dropped"]
pub struct LockGuard {
    /// `None`: there is no lock file, and this handle may not make one.
    file: Option<File>,
}

impl Drop for LockGuard {
    /// Closing the file is not enough: if another thread is just starting a
    /// process, that one shares the open file until it runs its own program.
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // On failure the lock still goes when the last sharer closes it.
            let _ = file.unlock();
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Shared,
    Exclusive,
}

impl Store {
    /// Takes the lock `name`, waiting for as long as another guard holds it.
    ///
    /// # Errors
    /// When the lock file cannot be made or the file system has no locks.
    pub fn lock(&self, name: &str) -> Result<LockGuard, StoreError> {
        self.must_be_writable()?;
        loop {
            if let Some(guard) = acquire(&self.lock_path(name), Mode::Exclusive, true)? {
                return Ok(guard);
            }
        }
    }

    /// Takes the lock `name` if it is free now.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn try_lock(&self, name: &str) -> Result<Option<LockGuard>, StoreError> {
        self.must_be_writable()?;
        acquire(&self.lock_path(name), Mode::Exclusive, false)
    }

    /// Keeps garbage collection out, of this and of all other processes,
    /// until the guard is dropped. A run holds it from its first lookup to
    /// its last record. Waits while a collection is under way.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn in_use(&self) -> Result<LockGuard, StoreError> {
        let path = self.use_lock();
        if self.is_read_only() {
            let file = match File::open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Ok(LockGuard { file: None });
                }
                Err(error) => return Err(StoreError::io("open the lock", &path, error)),
            };
            file.lock_shared()
                .map_err(|error| StoreError::io("lock", &path, error))?;
            return Ok(LockGuard { file: Some(file) });
        }
        loop {
            if let Some(guard) = acquire(&path, Mode::Shared, true)? {
                return Ok(guard);
            }
        }
    }

    /// The store for one collector alone, if no run is using it.
    pub(crate) fn try_exclusive(&self) -> Result<Option<LockGuard>, StoreError> {
        acquire(&self.use_lock(), Mode::Exclusive, false)
    }

    fn use_lock(&self) -> PathBuf {
        Bucket::Locks.dir(self.root()).join("use")
    }

    fn lock_path(&self, name: &str) -> PathBuf {
        Bucket::Locks
            .dir(self.root())
            .join(Digest::of(name.as_bytes()).to_string())
    }
}

/// Locks the file `path`. `None`: it is taken (only if not `wait`), or the
/// collector removed the file between opening and locking: then try again.
fn acquire(path: &Path, mode: Mode, wait: bool) -> Result<Option<LockGuard>, StoreError> {
    let error = |source| StoreError::io("lock", path, source);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(error)?;
    let tried = match (mode, wait) {
        (Mode::Shared, true) => file.lock_shared().map_err(TryLockError::Error),
        (Mode::Exclusive, true) => file.lock().map_err(TryLockError::Error),
        (Mode::Shared, false) => file.try_lock_shared(),
        (Mode::Exclusive, false) => file.try_lock(),
    };
    match tried {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(source)) => return Err(error(source)),
    }
    // A lock on a file without a name excludes nobody.
    let still_there = is_file_at(&file, path).map_err(error)?;
    Ok(still_there.then_some(LockGuard { file: Some(file) }))
}

/// Whether `path` names the very file that is open.
pub(crate) fn is_file_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match path.symlink_metadata() {
        Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes `path` unless somebody holds a lock on it. Says whether it did.
pub(crate) fn remove_unlocked(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        // No locks here (some network file systems): age alone must do.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
        Err(TryLockError::Error(error)) => return Err(error),
    }
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
