//! The memory budget of all running steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex};

/// A handle to the memory budget. Clones of a handle share its counter of claimed memory.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    budget: Arc<Budget>,
    counter: Arc<ClaimCounter>,
}

#[derive(Debug)]
struct Budget {
    total: u64,
    free: Mutex<FreeMemory>,
    changed: Condvar,
}

/// The free memory, and a queue of claims. Claims are served in order of arrival, so small claims cannot delay a large
/// claim forever.
#[derive(Debug)]
struct FreeMemory {
    bytes: u64,
    /// Ticket number of the next claim that arrives.
    next: u64,
    /// Ticket number of the claim that is served next.
    served: u64,
}

/// Claimed memory in bytes: now, and the maximum at one time.
#[derive(Debug, Default)]
struct ClaimCounter {
    now: AtomicU64,
    peak: AtomicU64,
}

/// A part of the budget. Dropping it returns the memory.
#[derive(Debug)]
#[must_use = "the memory is returned when the claim is dropped"]
pub struct Claim {
    budget: Arc<Budget>,
    counter: Arc<ClaimCounter>,
    bytes: u64,
}

/// The claim of a running step. The step can replace it by a claim of all memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct StepClaim(Arc<Mutex<Option<Claim>>>);

impl StepClaim {
    pub fn new(claim: Claim) -> StepClaim {
        StepClaim(Arc::new(Mutex::new(Some(claim))))
    }

    /// Returns the claimed memory in bytes. `None` outside of a step.
    pub fn bytes(&self) -> Option<u64> {
        self.0.lock().as_ref().map(|claim| claim.bytes)
    }

    /// Waits until no other step has a claim, and then claims all memory. Returns `false` without waiting if this step has
    /// no claim or has already claimed all memory.
    pub fn extend_to_all(&self, memory: &Memory) -> bool {
        let mut claim = self.0.lock();
        let is_extendable = claim
            .as_ref()
            .is_some_and(|claim| claim.bytes < memory.budget.total);
        if is_extendable {
            // The old claim is dropped first. Otherwise, two steps that each claim all memory would wait for each other.
            *claim = None;
            *claim = Some(memory.claim(memory.budget.total));
        }
        is_extendable
    }

    pub fn release(&self) {
        *self.0.lock() = None;
    }
}

impl Memory {
    pub fn new(bytes: u64) -> Memory {
        let free = FreeMemory {
            bytes,
            next: 0,
            served: 0,
        };
        Memory {
            budget: Arc::new(Budget {
                total: bytes,
                free: Mutex::new(free),
                changed: Condvar::new(),
            }),
            counter: Arc::default(),
        }
    }

    /// Returns another handle to the same budget. The new handle has a separate counter of claimed memory.
    pub fn with_own_counter(&self) -> Memory {
        Memory {
            counter: Arc::default(),
            ..self.clone()
        }
    }

    /// Claims `bytes`, but at most the total. Waits until they are free and all earlier claims are served.
    pub fn claim(&self, bytes: u64) -> Claim {
        let bytes = bytes.min(self.budget.total);
        let mut free = self.budget.free.lock();
        let ticket = free.next;
        free.next += 1;
        while free.served != ticket || free.bytes < bytes {
            self.budget.changed.wait(&mut free);
        }
        free.served += 1;
        free.bytes -= bytes;
        drop(free);
        self.budget.changed.notify_all();
        self.new_claim(bytes)
    }

    /// Claims `bytes` if they are free and no claim is waiting.
    pub fn try_claim(&self, bytes: u64) -> Option<Claim> {
        let mut free = self.budget.free.lock();
        if free.served != free.next {
            return None;
        }
        free.bytes = free.bytes.checked_sub(bytes)?;
        drop(free);
        Some(self.new_claim(bytes))
    }

    /// Returns the maximum memory that was claimed through this handle at one time.
    pub fn peak(&self) -> u64 {
        self.counter.peak.load(Ordering::Relaxed)
    }

    /// Creates a claim, and counts its `bytes`. The caller must have subtracted them from the free memory.
    fn new_claim(&self, bytes: u64) -> Claim {
        let now = self.counter.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.counter.peak.fetch_max(now, Ordering::Relaxed);
        Claim {
            budget: self.budget.clone(),
            counter: self.counter.clone(),
            bytes,
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.counter.now.fetch_sub(self.bytes, Ordering::Relaxed);
        self.budget.free.lock().bytes += self.bytes;
        self.budget.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn claims_share_the_total_and_the_peak_is_counted() {
        let memory = Memory::new(100 << 20);
        let counted = memory.with_own_counter();
        let first = counted.claim(60 << 20);
        assert!(counted.try_claim(60 << 20).is_none());
        let second = counted.try_claim(40 << 20);
        assert!(second.is_some());
        drop((first, second));
        assert_eq!(counted.peak(), 100 << 20);
        assert!(counted.try_claim((100 << 20) + 1).is_none());
        let large = memory.with_own_counter();
        let all = large.claim(1 << 40);
        assert!(memory.try_claim(1).is_none());
        assert_eq!(large.peak(), 100 << 20);
        drop(all);
        assert_eq!(counted.peak(), 100 << 20);
        assert!(memory.try_claim(100 << 20).is_some());
    }

    #[test]
    fn a_large_claim_is_not_overtaken_by_small_ones() {
        let memory = Memory::new(100);
        let held = memory.claim(50);
        std::thread::scope(|scope| {
            let large = scope.spawn(|| drop(memory.claim(80)));
            while memory.budget.free.lock().next < 2 {
                std::thread::yield_now();
            }
            assert!(
                memory.try_claim(10).is_none(),
                "the large claim is served first"
            );
            let small = scope.spawn(|| drop(memory.claim(10)));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!large.is_finished() && !small.is_finished());
            drop(held);
        });
        assert_eq!(memory.budget.free.lock().bytes, 100);
    }
}
