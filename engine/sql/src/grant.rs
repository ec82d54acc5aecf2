//! What a running query may use, and what it lacked.

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

/// What a query may use while it runs.
#[derive(Clone)]
pub struct Grant {
    /// Bytes that it may hold. Sorts, groups and joins go to disk with what is beyond.
    pub memory: u64,
    /// Whether it is to stop; asked for every batch that goes from one operator to the next.
    pub stop: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Grant {
    /// A grant of `memory` bytes to a query that nobody stops.
    pub fn of(memory: u64) -> Grant {
        Grant {
            memory,
            stop: Arc::new(|| false),
        }
    }

    /// An error once the query is to stop.
    pub(crate) fn check(&self) -> Result<()> {
        if (self.stop)() {
            return Err(DataFusionError::External(Box::new(Stopped)));
        }
        Ok(())
    }

    /// What operators account for. They copy what they hold when they merge, concatenate or emit it, so that they may
    /// account for half of the grant only.
    pub(crate) fn pool(&self) -> usize {
        usize::try_from(self.memory / 2).unwrap_or(usize::MAX)
    }

    /// The estimated size up to which one side of a join is held instead of sorted.
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

/// Functions and operators find the grant among the options of their session.
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

/// A pool that remembers how much was asked for in vain.
#[derive(Debug)]
pub(crate) struct Pool {
    inner: FairSpillPool,
    /// The most that would have been held if it had been given.
    wanted: AtomicUsize,
}

impl Pool {
    pub(crate) fn new(bytes: usize) -> Pool {
        Pool {
            inner: FairSpillPool::new(bytes),
            wanted: AtomicUsize::new(0),
        }
    }

    /// The grant that what was asked for in vain would need.
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
