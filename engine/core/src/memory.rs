//! Memory that running steps hold together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory is counted in these units, so that a semaphore's 32-bit permits reach far enough.
const UNIT: u64 = 1 << 20;

/// An amount of memory that claims are taken from. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    free: Arc<Semaphore>,
    units: u32,
    counted: Arc<Counted>,
}

/// What one step has claimed.
#[derive(Debug, Default)]
struct Counted {
    now: AtomicU64,
    peak: AtomicU64,
}

/// A part of the memory. Dropping it gives it back.
#[derive(Debug)]
#[must_use = "the memory is given back when the claim is dropped"]
pub struct Claim {
    counted: Arc<Counted>,
    bytes: u64,
    _units: OwnedSemaphorePermit,
}

impl Memory {
    pub fn new(bytes: u64) -> Memory {
        let units = u32::try_from((bytes / UNIT).max(1)).unwrap_or(u32::MAX >> 4);
        Memory {
            free: Arc::new(Semaphore::new(units as usize)),
            units,
            counted: Arc::default(),
        }
    }

    /// The same memory, counting for itself what is claimed of it.
    pub fn counted(&self) -> Memory {
        Memory {
            counted: Arc::default(),
            ..self.clone()
        }
    }

    /// Waits until so much is free. More than there is at all is all there is: then nobody else holds any.
    pub async fn claim(&self, bytes: u64) -> Option<Claim> {
        let free = self.free.clone();
        let units = free.acquire_many_owned(self.units_of(bytes)).await.ok()?;
        Some(self.claimed(bytes, units))
    }

    /// So much more, if it is free now. Never more than there is at all: who can wait for that takes it with `claim`.
    pub fn try_claim(&self, bytes: u64) -> Option<Claim> {
        if bytes.div_ceil(UNIT) > u64::from(self.units) {
            return None;
        }
        let free = self.free.clone();
        let units = free.try_acquire_many_owned(self.units_of(bytes)).ok()?;
        Some(self.claimed(bytes, units))
    }

    /// The most that was claimed at a time.
    pub fn peak(&self) -> u64 {
        self.counted.peak.load(Ordering::Relaxed)
    }

    fn units_of(&self, bytes: u64) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT))
            .unwrap_or(u32::MAX)
            .clamp(1, self.units)
    }

    fn claimed(&self, bytes: u64, units: OwnedSemaphorePermit) -> Claim {
        let now = self.counted.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.counted.peak.fetch_max(now, Ordering::Relaxed);
        Claim {
            counted: self.counted.clone(),
            bytes,
            _units: units,
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.counted.now.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn claims_share_what_there_is_and_the_peak_is_known() {
        let memory = Memory::new(100 << 20);
        let mine = memory.counted();
        let first = mine.claim(60 << 20).await;
        assert!(mine.try_claim(60 << 20).is_none());
        let second = mine.try_claim(40 << 20);
        assert!(second.is_some());
        drop((first, second));
        assert_eq!(mine.peak(), 100 << 20);
        assert!(mine.try_claim(101 << 20).is_none());
        // What is larger than all runs alone.
        let all = memory.claim(1 << 40).await;
        assert!(all.is_some() && memory.try_claim(1).is_none());
        assert_eq!(mine.peak(), 100 << 20);
        assert!(mine.try_claim(101 << 20).is_none());
    }
}
