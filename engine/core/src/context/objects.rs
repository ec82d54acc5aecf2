//! Content outside the cache (bundles, files on another machine), and objects that are open in memory.
//!
//! An open object is in memory, where steps use it. It has one of three lifetimes:
//! - *Shared*: open while at least one step uses it. Concurrent users share it.
//! - *Kept*: open until other objects need the memory. For small objects that must be read entirely.
//! - *Held*: only in memory, because reading the object from disk would take as long as computing it. The ledger entry lists
//!   the object as unstored. The scheduler drops the object when all steps that use it have ended. If a later run needs the
//!   object, its step runs again.

use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use prep_cache::{Digest, Stored};

use super::memory::Memory;
use crate::{Claim, StepError};

type OpenedObject = Arc<dyn Any + Send + Sync>;

/// A reference to one open object. A thread locks the slot while it opens the object, so that no second thread opens the
/// same object.
type Slot = Arc<Mutex<Option<Weak<dyn Any + Send + Sync>>>>;

/// At most this number of objects is kept, because each kept object may be mapped into memory.
const MAX_KEPT_OBJECTS: usize = 64;

/// A held object. It is dropped with this value.
pub(crate) struct MemoryResult {
    object: Stored,
    opened: OpenedObject,
    _claim: Claim,
}

impl MemoryResult {
    pub fn object(&self) -> &Digest {
        &self.object.digest
    }
}

/// Open objects. All steps share `cache`.
#[derive(Clone)]
pub struct OpenObjects {
    cache: Arc<ObjectCache>,
    /// The held objects that this step has created.
    results: Arc<Mutex<Vec<Arc<MemoryResult>>>>,
}

impl OpenObjects {
    /// Limits the bytes of kept and of held objects. If `held_memory` is `None`, objects are never held.
    pub(crate) fn new(max_kept_bytes: u64, held_memory: Option<u64>) -> OpenObjects {
        OpenObjects {
            cache: Arc::new(ObjectCache::new(max_kept_bytes, held_memory)),
            results: Arc::default(),
        }
    }

    pub(crate) fn for_step(&self) -> OpenObjects {
        OpenObjects {
            cache: self.cache.clone(),
            results: Arc::default(),
        }
    }

    /// Returns the open object, or opens it with `open`. Concurrent users share one result.
    pub fn shared<T: Any + Send + Sync>(
        &self,
        object: &Digest,
        open: impl FnOnce() -> Result<T, StepError>,
    ) -> Result<Arc<T>, StepError> {
        self.cache.shared(object, open)
    }

    /// Same as [`shared`](Self::shared), but keeps the object for later steps until other objects need the memory. `bytes`
    /// returns the memory in bytes that the open object occupies.
    pub fn shared_for_run<T: Any + Send + Sync>(
        &self,
        object: &Digest,
        open: impl FnOnce() -> Result<T, StepError>,
        bytes: impl FnOnce(&T) -> u64,
    ) -> Result<Arc<T>, StepError> {
        let opened = self.cache.shared(object, open)?;
        self.cache.keep(opened.clone(), bytes(&opened));
        Ok(opened)
    }

    /// Claims `bytes` bytes for a held object. Returns `None` if there is no room.
    pub fn try_claim_for_result(&self, bytes: u64) -> Option<Claim> {
        self.cache.held_memory.as_ref()?.try_claim(bytes)
    }

    /// Holds an object that this step created in memory, instead of storing it on disk. [`get`](Self::get) then returns
    /// `opened`. `claim` must reserve the memory of `opened`.
    pub fn hold<T: Any + Send + Sync>(&self, object: Stored, opened: Arc<T>, claim: Claim) {
        let held = self.cache.hold(object, opened, claim);
        self.results.lock().push(held);
    }

    /// Returns a held object.
    pub fn get<T: Any + Send + Sync>(&self, object: &Digest) -> Option<Arc<T>> {
        self.cache.find(object)?.opened.clone().downcast().ok()
    }

    /// Returns whether an object is held.
    pub fn holds(&self, object: &Digest) -> bool {
        self.cache.find(object).is_some()
    }

    pub(crate) fn len_of(&self, object: &Digest) -> Option<u64> {
        Some(self.cache.find(object)?.object.len)
    }

    pub(crate) fn take_results(&self) -> Vec<Arc<MemoryResult>> {
        std::mem::take(&mut *self.results.lock())
    }
}

struct ObjectCache {
    slots: Mutex<HashMap<(Digest, TypeId), Slot>>,
    /// Kept objects with their memory in bytes, most recently used last.
    kept: Mutex<VecDeque<(OpenedObject, u64)>>,
    max_kept_bytes: u64,
    held: Mutex<HashMap<Digest, Weak<MemoryResult>>>,
    /// The memory budget of held objects. `None` if objects are never held.
    held_memory: Option<Memory>,
}

impl ObjectCache {
    fn new(max_kept_bytes: u64, held_memory: Option<u64>) -> ObjectCache {
        ObjectCache {
            slots: Mutex::default(),
            kept: Mutex::default(),
            max_kept_bytes,
            held: Mutex::default(),
            held_memory: held_memory.map(Memory::new),
        }
    }

    fn shared<T: Any + Send + Sync>(
        &self,
        object: &Digest,
        open: impl FnOnce() -> Result<T, StepError>,
    ) -> Result<Arc<T>, StepError> {
        let slot = {
            let mut slots = self.slots.lock();
            // Remove unused slots: no thread waits for the slot, and no step uses its object.
            slots.retain(|_, slot| {
                let is_used = |cached: &Option<Weak<_>>| {
                    cached
                        .as_ref()
                        .is_some_and(|cached| cached.strong_count() > 0)
                };
                Arc::strong_count(slot) > 1
                    || slot.try_lock().is_some_and(|cached| is_used(&cached))
            });
            slots
                .entry((*object, TypeId::of::<T>()))
                .or_default()
                .clone()
        };
        let mut cached = slot.lock();
        let existing = cached.as_ref().and_then(Weak::upgrade);
        if let Some(existing) = existing.and_then(|any| any.downcast::<T>().ok()) {
            return Ok(existing);
        }
        let opened: Arc<T> = Arc::new(open()?);
        let any: OpenedObject = opened.clone();
        *cached = Some(Arc::downgrade(&any));
        Ok(opened)
    }

    /// Keeps an object that occupies `bytes` bytes. Drops the least recently used objects to make room.
    fn keep(&self, opened: OpenedObject, bytes: u64) {
        if bytes > self.max_kept_bytes {
            return;
        }
        let mut kept = self.kept.lock();
        kept.retain(|(cached, _)| !Arc::ptr_eq(cached, &opened));
        kept.push_back((opened, bytes));
        let mut taken: u64 = kept.iter().map(|(_, bytes)| bytes).sum();
        while kept.len() > MAX_KEPT_OBJECTS || taken > self.max_kept_bytes {
            taken -= kept.pop_front().map_or(0, |(_, bytes)| bytes);
        }
    }

    fn hold(&self, object: Stored, opened: OpenedObject, claim: Claim) -> Arc<MemoryResult> {
        let held = Arc::new(MemoryResult {
            object,
            opened,
            _claim: claim,
        });
        let mut cached = self.held.lock();
        cached.retain(|_, held| held.strong_count() > 0);
        cached.insert(object.digest, Arc::downgrade(&held));
        held
    }

    fn find(&self, object: &Digest) -> Option<Arc<MemoryResult>> {
        self.held.lock().get(object)?.upgrade()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that panics has failed")]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn object_in_use_is_opened_once_and_reopened_later() {
        let objects = ObjectCache::new(100, None);
        let object = Digest::of_bytes(b"a");
        let open = |number: u32| objects.shared(&object, || Ok(number)).map(|opened| *opened);
        let first = objects.shared(&object, || Ok(1_u32));
        assert!(matches!(open(2), Ok(1)));
        assert!(matches!(objects.shared(&object, || Ok("text")), Ok(text) if *text == "text"));
        drop(first);
        assert!(matches!(open(3), Ok(3)));
        let failed = objects.shared::<u32>(&object, || Err(StepError::Cancelled));
        assert!(failed.is_err());
        assert!(matches!(open(4), Ok(4)), "an error is not cached");
    }

    #[test]
    fn most_recently_used_objects_are_kept() {
        let objects = ObjectCache::new(100, None);
        let open = |name: &[u8], number: u32, bytes: u64| {
            let opened = objects
                .shared(&Digest::of_bytes(name), || Ok(number))
                .unwrap();
            objects.keep(opened.clone(), bytes);
            *opened
        };
        assert_eq!(open(b"a", 1, 40), 1);
        assert_eq!(open(b"b", 2, 40), 2);
        assert_eq!(open(b"a", 3, 40), 1, "kept, and now most recently used");
        assert_eq!(open(b"c", 4, 40), 4);
        assert_eq!(open(b"b", 5, 40), 5, "removed to make room for c");
        assert_eq!(open(b"d", 6, 101), 6);
        assert_eq!(open(b"d", 7, 101), 7, "too large to be kept");
        assert_eq!(open(b"c", 8, 40), 4);
    }

    #[test]
    fn different_objects_are_opened_at_the_same_time() {
        let objects = ObjectCache::new(100, None);
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            for name in [b"a", b"b"] {
                let (objects, both) = (&objects, &both);
                scope.spawn(move || {
                    let opened =
                        objects.shared(&Digest::of_bytes(name), || Ok(both.wait().is_leader()));
                    assert!(opened.is_ok());
                });
            }
        });
    }
}

/// Location of content that is not in the cache.
#[derive(Clone)]
pub enum Location {
    /// A file on this machine. It may no longer exist.
    Path(PathBuf),
    /// A file on another machine.
    Ranges(Arc<dyn Ranges>),
}

/// Content on another machine that is read range by range. Implementations verify the bytes.
pub trait Ranges: Send + Sync {
    /// Returns the length in bytes.
    fn bytes(&self) -> u64;

    /// Reads up to `buffer.len()` bytes at `offset`. Returns 0 at the end. Fails with
    /// [`StoreError::Missing`](prep_cache::StoreError::Missing) if the content is not available.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize>;

    /// Announces ranges that will be read later. Implementations can fetch adjacent ranges together.
    fn expect(&self, ranges: Vec<std::ops::Range<u64>>);
}

/// Locations of content outside the cache. Clones share the locations.
#[derive(Clone, Default)]
pub struct OutsideContent {
    locations: Arc<RwLock<HashMap<Digest, Location>>>,
    /// Content that a step needed and did not find.
    lost: Arc<RwLock<HashSet<Digest>>>,
}

impl OutsideContent {
    /// Registers the path of content, for example of a bundle.
    pub fn set_path(&self, content: Digest, path: PathBuf) {
        let location = Location::Path(path);
        self.locations.write().insert(content, location);
    }

    /// Registers a reader of content on another machine.
    pub fn set_ranges(&self, content: Digest, ranges: Arc<dyn Ranges>) {
        let location = Location::Ranges(ranges);
        self.locations.write().insert(content, location);
    }

    /// Returns the location of content, if registered.
    pub fn location(&self, content: &Digest) -> Option<Location> {
        self.locations.read().get(content).cloned()
    }

    pub(crate) fn record_lost(&self, content: Digest) {
        self.lost.write().insert(content);
    }

    pub(crate) fn has_lost(&self) -> bool {
        !self.lost.read().is_empty()
    }

    /// Returns whether a step needed this content and did not find it. The source must then fetch the content.
    pub fn is_lost(&self, content: &Digest) -> bool {
        self.lost.read().contains(content)
    }
}
