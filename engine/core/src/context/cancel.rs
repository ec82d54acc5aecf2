//! The progress that a running step reports, and the flag that cancels it.

use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use prep_cache::{LockGuard, Store};

use crate::StepError;

/// Pause between two attempts to take a lock.
const LOCK_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// A flag that steps check often, so that they stop quickly. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Sets the flag.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns a reader of `inner` that fails once the flag is set. Its I/O error contains [`StepError::Cancelled`].
    pub fn reader<R>(&self, inner: R) -> CancellableReader<R> {
        CancellableReader {
            cancel: self.clone(),
            inner,
        }
    }

    /// Prevents garbage collection of the cache while the returned guard exists. If a collection is running, waits
    /// until it ends or the flag is set.
    pub fn in_use(&self, store: &Store) -> Result<LockGuard, StepError> {
        loop {
            self.check()?;
            if let Some(guard) = store.try_in_use()? {
                return Ok(guard);
            }
            std::thread::sleep(LOCK_RETRY_PAUSE);
        }
    }

    /// Returns an error once the flag is set. Loops call it with `?`.
    pub fn check(&self) -> Result<(), StepError> {
        if self.is_cancelled() {
            Err(StepError::Cancelled)
        } else {
            Ok(())
        }
    }
}

/// A reader that fails once the run is cancelled. See [`Cancel::reader`].
#[derive(Debug)]
pub struct CancellableReader<R> {
    cancel: Cancel,
    inner: R,
}

impl<R: Read> Read for CancellableReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.cancel.check()?;
        self.inner.read(buffer)
    }
}

impl<R: Seek> Seek for CancellableReader<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// Counters that a step increases while it works and that a reporter reads when it draws.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes processed so far.
    pub bytes: AtomicU64,
    /// Files processed so far.
    pub files: AtomicU64,
    /// Total number of bytes, 0 while unknown.
    pub total_bytes: AtomicU64,
}

impl Progress {
    /// Adds processed bytes.
    pub fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds one processed file.
    pub fn add_file(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the total number of bytes.
    pub fn set_total_bytes(&self, bytes: u64) {
        self.total_bytes.store(bytes, Ordering::Relaxed);
    }
}
