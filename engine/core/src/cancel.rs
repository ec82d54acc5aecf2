//! Cancellation: a flag that running steps check.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prep_cache::{LockGuard, Store};

use crate::StepError;

/// Pause between two attempts to take a lock.
const LOCK_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// A flag that steps check often enough to stop within a moment. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Sets the flag.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns a reader of `inner` that fails, with [`StepError::Cancelled`] inside the I/O error, once the flag is
    /// set.
    pub fn reader<R>(&self, inner: R) -> CancellableReader<R> {
        CancellableReader {
            cancel: self.clone(),
            inner,
        }
    }

    /// Prevents garbage collection of a store while the guard lives. Stops waiting for a running collection when the
    /// flag is set.
    pub fn in_use(&self, store: &Store) -> Result<LockGuard, StepError> {
        loop {
            self.check()?;
            if let Some(guard) = store.try_in_use()? {
                return Ok(guard);
            }
            std::thread::sleep(LOCK_RETRY_PAUSE);
        }
    }

    /// Returns an error once the flag is set; for `?` in loops.
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
