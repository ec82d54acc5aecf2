//! Limits of a running query: memory, temporary files and cancellation.

pub(crate) mod spill;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use datafusion_common::config::{ConfigEntry, ConfigExtension, ExtensionOptions};
use datafusion_common::config_err;
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};

use parking_lot::Mutex;
use thiserror::Error;

/// The error of a cancelled query.
#[derive(Debug, Error)]
#[error("stopped")]
pub(crate) struct QueryCancelled;

/// The limits of a running query.
#[derive(Clone)]
pub struct QueryLimits {
    /// Memory in bytes. Sorts, groups and joins that need more memory use temporary files.
    pub memory: u64,
    /// Returns true if the query was cancelled. Called for every batch that passes between operators.
    pub stop: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl QueryLimits {
    /// Returns limits with `memory` bytes and without cancellation.
    pub fn with_memory(memory: u64) -> QueryLimits {
        QueryLimits {
            memory,
            stop: Arc::new(|| false),
        }
    }

    /// Fails if the query was cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        if (self.stop)() {
            return Err(DataFusionError::External(Box::new(QueryCancelled)));
        }
        Ok(())
    }

    /// Returns the number of bytes that operators may reserve: half of the memory. The other half is for copies that
    /// operators make without a reservation.
    pub(crate) fn accounted_bytes(&self) -> usize {
        usize::try_from(self.memory / 2).unwrap_or(usize::MAX)
    }

    /// Returns the maximum estimated size in bytes of a join side that is kept in memory.
    pub(crate) fn max_build_side_bytes(&self) -> usize {
        self.accounted_bytes() / 2
    }

    /// Returns the maximum size in bytes of the values that one call of a function returns.
    pub(crate) fn max_call_bytes(&self) -> u64 {
        (self.memory / 8).max(1 << 20)
    }
}

impl fmt::Debug for QueryLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryLimits")
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}

/// Lets functions and operators read the limits from the options of their session.
impl ConfigExtension for QueryLimits {
    const PREFIX: &'static str = "query_limits";
}

impl ExtensionOptions for QueryLimits {
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
        config_err!("query limits have no option `{key}`")
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

/// A memory pool that estimates how much memory a query needs.
///
/// The last failed request for memory ended the query. The memory of the operator that sent this request is
/// extrapolated from the rows read so far to all rows. Earlier failed requests are not extrapolated, because their
/// operators used temporary files instead.
#[derive(Debug)]
pub(crate) struct QueryPool {
    inner: FairSpillPool,
    /// The largest total, in bytes, of the reserved memory and a failed request.
    failed_total: AtomicUsize,
    /// The total of the last failed request, extrapolated to all rows.
    last_extrapolated: AtomicUsize,
    /// For each scan and sort, the number of rows returned so far, and the number of all rows.
    scans: Mutex<Vec<(Arc<AtomicU64>, u64)>>,
}

impl QueryPool {
    pub(crate) fn new(bytes: usize) -> QueryPool {
        QueryPool {
            inner: FairSpillPool::new(bytes),
            failed_total: AtomicUsize::new(0),
            last_extrapolated: AtomicUsize::new(0),
            scans: Mutex::default(),
        }
    }

    /// Registers an operator with `rows` rows. Returns the counter of the rows returned so far.
    pub(crate) fn start_scan(&self, rows: u64) -> Arc<AtomicU64> {
        let read = Arc::new(AtomicU64::new(0));
        self.scans.lock().push((Arc::clone(&read), rows));
        read
    }

    /// Extrapolates memory of `bytes` from the rows read so far to all rows.
    fn extrapolated(&self, bytes: usize) -> usize {
        let scans = self.scans.lock();
        // No operator holds the counter of a dropped scan, so this scan is ignored.
        let running = scans.iter().filter(|(read, _)| Arc::strong_count(read) > 1);
        let grown = running.filter_map(|(read, rows)| {
            let read = read.load(Ordering::Relaxed);
            let grown = bytes as u128 * u128::from(*rows) / u128::from(read.max(1));
            (read > 0 && read < *rows).then(|| usize::try_from(grown).unwrap_or(usize::MAX))
        });
        grown.max().unwrap_or(bytes)
    }

    /// Returns the memory limit in bytes that the query probably needs, or 0 if no request failed.
    ///
    /// The largest total of reserved and requested memory is multiplied by four. Operators may reserve only half of a
    /// limit, and the query would have sent further requests.
    pub(crate) fn required_bytes(&self) -> u64 {
        let totals = [&self.failed_total, &self.last_extrapolated];
        let totals = totals.map(|total| total.load(Ordering::Relaxed) as u64);
        totals.into_iter().fold(0, u64::max).saturating_mul(4)
    }
}

impl fmt::Display for QueryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner, f)
    }
}

impl MemoryPool for QueryPool {
    fn name(&self) -> &str {
        "query_limits"
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
        let granted = self.inner.try_grow(reservation, additional);
        if granted.is_err() {
            let reserved = self.inner.reserved();
            let failed_total = reserved.saturating_add(additional);
            self.failed_total.fetch_max(failed_total, Ordering::Relaxed);
            // The memory of the operator that sent the request, including the requested bytes.
            let own = reservation.size().saturating_add(additional);
            let others = reserved.saturating_sub(reservation.size());
            let extrapolated = others.saturating_add(self.extrapolated(own));
            self.last_extrapolated
                .store(extrapolated, Ordering::Relaxed);
        }
        granted
    }

    fn reserved(&self) -> usize {
        self.inner.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.inner.memory_limit()
    }
}
