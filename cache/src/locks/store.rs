//! The locks of a store: named locks, and the lock that separates runs from garbage collection.

use std::path::PathBuf;

use crate::layout::Bucket;
use crate::locks::file::{LockGuard, acquire, acquire_with, share_existing};
use crate::locks::lease::{Lease, Mode};
use crate::{Digest, Store, StoreError};

impl Store {
    /// Takes the lock `name`. Waits while another guard holds it. If you need to be able to stop waiting, call
    /// [`try_lock`](Self::try_lock) repeatedly instead.
    ///
    /// # Errors
    /// If the lock file cannot be created.
    pub fn lock(&self, name: &str) -> Result<LockGuard, StoreError> {
        self.must_be_writable()?;
        loop {
            if let Some(guard) = acquire(&self.lock_path(name), Mode::Exclusive, true)? {
                return Ok(guard);
            }
        }
    }

    /// Takes the lock `name` if it is free.
    ///
    /// # Errors
    /// Same as for [`lock`](Self::lock).
    pub fn try_lock(&self, name: &str) -> Result<Option<LockGuard>, StoreError> {
        self.must_be_writable()?;
        acquire(&self.lock_path(name), Mode::Exclusive, false)
    }

    /// Prevents garbage collection by this and all other processes until the guard is dropped. A run holds the guard
    /// from its first lookup to its last record. Waits while a collection is running. If you need to be able to stop
    /// waiting, call [`try_in_use`](Self::try_in_use) repeatedly instead.
    ///
    /// # Errors
    /// Same as for [`lock`](Self::lock).
    pub fn in_use(&self) -> Result<LockGuard, StoreError> {
        loop {
            if let Some(guard) = self.announce_use(true)? {
                return Ok(guard);
            }
        }
    }

    /// Same as [`in_use`](Self::in_use), but returns `None` while a collection is running.
    ///
    /// # Errors
    /// Same as for [`lock`](Self::lock).
    pub fn try_in_use(&self) -> Result<Option<LockGuard>, StoreError> {
        self.announce_use(false)
    }

    fn announce_use(&self, wait: bool) -> Result<Option<LockGuard>, StoreError> {
        let path = self.use_lock();
        match self.is_read_only() {
            true => share_existing(&path, wait),
            false => acquire(&path, Mode::Shared, wait),
        }
    }

    /// Locks the store for one garbage collector. Returns `None` while a run uses the store.
    pub(crate) fn try_exclusive(&self) -> Result<Option<LockGuard>, StoreError> {
        let path = self.use_lock();
        // A machine that died during a run may have left its lease. This call waits until it is certain whether the
        // holder is alive.
        acquire_with(&path, Mode::Exclusive, false, Lease::take_unless_alive)
    }

    fn use_lock(&self) -> PathBuf {
        Bucket::Locks.dir(self.root()).join("use")
    }

    fn lock_path(&self, name: &str) -> PathBuf {
        Bucket::Locks
            .dir(self.root())
            .join(Digest::of_bytes(name.as_bytes()).to_string())
    }
}
