//! Limits uploads: their number at the same time, their number per client, and the disk space that they take.
//!
//! A request waits until its upload may begin. If one address has all of its uploads under way, requests of other
//! addresses do not wait for them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of uploads at the same time.
const MAX_UPLOADS: usize = 256;

/// Maximum number of uploads at the same time from one address.
const MAX_UPLOADS_OF_PEER: usize = MAX_UPLOADS / 2;

pub(crate) struct Slots {
    all: Arc<Semaphore>,
    peers: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
    waiting: AtomicUsize,
}

/// The permission to receive one upload.
pub(crate) struct Slot {
    _all: OwnedSemaphorePermit,
    _of_peer: OwnedSemaphorePermit,
}

impl Slots {
    pub(crate) fn new() -> Slots {
        Slots {
            all: Arc::new(Semaphore::new(MAX_UPLOADS)),
            peers: Mutex::default(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Returns a slot if one is free.
    pub(crate) fn try_acquire(&self, peer: IpAddr) -> Option<Slot> {
        let of_peer = self.of_peer(peer).try_acquire_owned().ok()?;
        let all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(Slot {
            _all: all,
            _of_peer: of_peer,
        })
    }

    /// Waits for a slot. Returns `None` if the semaphore is closed, which does not happen.
    pub(crate) async fn acquire(&self, peer: IpAddr) -> Option<Slot> {
        let _waiting = Waiting::begin(&self.waiting);
        let of_peer = self.of_peer(peer).acquire_owned().await.ok()?;
        let all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Slot {
            _all: all,
            _of_peer: of_peer,
        })
    }

    /// Returns whether a request waits for a slot.
    pub(crate) fn are_scarce(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    fn of_peer(&self, peer: IpAddr) -> Arc<Semaphore> {
        let mut peers = self.peers.lock();
        // Only addresses with requests are remembered. Each permit and each waiting request has a reference.
        peers.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        let semaphore = peers.entry(peer);
        let semaphore = semaphore.or_insert_with(|| Arc::new(Semaphore::new(MAX_UPLOADS_OF_PEER)));
        Arc::clone(semaphore)
    }
}

/// Counts a waiting request while it exists.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(count: &'a AtomicUsize) -> Waiting<'a> {
        count.fetch_add(1, Ordering::Relaxed);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The disk space of all uploads that are being received or graded.
#[derive(Debug)]
pub(crate) struct Space {
    used: AtomicU64,
    max: u64,
}

/// The disk space of one upload. It is free again when this value is dropped.
#[derive(Debug)]
pub(crate) struct Reserved {
    space: Arc<Space>,
    bytes: u64,
}

impl Space {
    pub(crate) fn new(max: u64) -> Arc<Space> {
        Arc::new(Space {
            used: AtomicU64::new(0),
            max,
        })
    }

    pub(crate) fn begin(self: &Arc<Self>) -> Reserved {
        Reserved {
            space: Arc::clone(self),
            bytes: 0,
        }
    }
}

impl Reserved {
    /// Takes more space. Returns `false` if all uploads together would take too much.
    pub(crate) fn grow(&mut self, bytes: u64) -> bool {
        let used = self.space.used.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        used.saturating_add(bytes) <= self.space.max
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.space.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_does_not_take_all_slots() {
        let slots = Slots::new();
        let [one, two, three]: [IpAddr; 3] =
            ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|a| a.parse().unwrap());
        let mut held: Vec<Slot> = std::iter::from_fn(|| slots.try_acquire(one)).collect();
        assert_eq!(held.len(), MAX_UPLOADS_OF_PEER);
        held.extend(std::iter::from_fn(|| slots.try_acquire(two)));
        assert_eq!(held.len(), MAX_UPLOADS);
        assert!(slots.try_acquire(three).is_none());
        held.clear();
        assert!(slots.try_acquire(three).is_some());
        assert_eq!(slots.peers.lock().len(), 1);
    }

    #[test]
    fn space_is_free_again_after_an_upload() {
        let space = Space::new(10);
        let mut one = space.begin();
        assert!(one.grow(6) && one.grow(4));
        let mut two = space.begin();
        assert!(!two.grow(1));
        drop(two);
        drop(one);
        assert!(space.begin().grow(10));
    }
}
