//! Limits of a running query: how much memory it may use, and whether it is cancelled.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::config::{ConfigEntry, ConfigExtension, ExtensionOptions};
use datafusion::common::config_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};

use crate::error::Stopped;

/// Limits of a running query.
#[derive(Clone)]
pub struct Grant {
    /// Bytes of memory. Sorts, groups and joins that need more write to temporary files.
    pub memory: u64,
    /// Returns true if the query is cancelled. Called for every batch that passes between operators.
    pub stop: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Grant {
    /// Limits of `memory` bytes, without cancellation.
    pub fn of(memory: u64) -> Grant {
        Grant {
            memory,
            stop: Arc::new(|| false),
        }
    }

    /// Returns an error if the query is cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        if (self.stop)() {
            return Err(DataFusionError::External(Box::new(Stopped)));
        }
        Ok(())
    }

    /// Bytes that operators may account for: half of the memory. Operators copy their data when they merge, concatenate
    /// or emit it, and these copies are not accounted for.
    pub(crate) fn pool(&self) -> usize {
        usize::try_from(self.memory / 2).unwrap_or(usize::MAX)
    }

    /// Largest estimated size in bytes of a join side that is kept in memory. Larger sides are sorted.
    pub(crate) fn held_side(&self) -> usize {
        self.pool() / 2
    }

    /// Bytes that one call of a function may return.
    pub(crate) fn call(&self) -> u64 {
        (self.memory / 8).max(1 << 20)
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}

/// Functions and operators find the limits among the options of their session.
impl ConfigExtension for Grant {
    const PREFIX: &'static str = "grant";
}

impl ExtensionOptions for Grant {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, _value: &str) -> Result<()> {
        config_err!("a grant has no option `{key}`")
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

/// A memory pool that records the largest total that it could not provide.
#[derive(Debug)]
pub(crate) struct Pool {
    inner: FairSpillPool,
    /// The largest number of bytes that would have been reserved if a request had not failed.
    wanted: AtomicUsize,
}

impl Pool {
    pub(crate) fn new(bytes: usize) -> Pool {
        Pool {
            inner: FairSpillPool::new(bytes),
            wanted: AtomicUsize::new(0),
        }
    }

    /// The memory limit in bytes with which the failed requests would have succeeded, 0 if none failed.
    pub(crate) fn lacking(&self) -> u64 {
        2 * self.wanted.load(Ordering::Relaxed) as u64
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner, f)
    }
}

impl MemoryPool for Pool {
    fn name(&self) -> &str {
        "grant"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.inner.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.inner.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.inner.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.inner.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let given = self.inner.try_grow(reservation, additional);
        if given.is_err() {
            let wanted = self.inner.reserved().saturating_add(additional);
            self.wanted.fetch_max(wanted, Ordering::Relaxed);
        }
        given
    }

    fn reserved(&self) -> usize {
        self.inner.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.inner.memory_limit()
    }
}
