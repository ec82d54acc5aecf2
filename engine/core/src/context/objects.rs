//! Content that steps read: locations of content outside the cache (bundles, and files on another machine), and opened
//! objects in memory. An opened object is treated in one of three ways:
//!
//! - *Shared*: the object is open as long as a step uses it. Steps that use it at the same time open it only once.
//! - *Kept*: the object also stays open after its use, until its memory is needed for objects that were used later. This is
//!   for small objects that have to be read entirely when they are opened.
//! - *Held*: the object is not on disk at all, because reading it back would take as long as computing it. The step that
//!   creates the object claims memory for it, and the ledger entry lists it as unstored. The scheduler keeps the object
//!   until all steps that use it have ended. If a later run needs the object, it is missing and its step runs again, as
//!   for any lost object.

use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use prep_cache::{Digest, Stored};

use super::memory::Memory;
use crate::{Claim, StepError};

/// An opened object: the result of the function that a step passed to open it.
type OpenedObject = Arc<dyn Any + Send + Sync>;

/// The slot of one opened object. A thread that opens the object holds the slot's lock, so that no second thread opens the
/// same object. Other objects can be opened at the same time.
type Slot = Arc<Mutex<Option<Weak<dyn Any + Send + Sync>>>>;

/// Maximum number of kept objects, because each may be mapped into memory.
const MAX_KEPT_OBJECTS: usize = 64;

/// An object that is only in memory. Steps can use it as long as this value exists.
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

/// Objects that are open in memory. All steps share the cache of objects. Each step has a separate list of the results
/// that it holds in memory.
#[derive(Clone)]
pub struct OpenObjects {
    cache: Arc<ObjectCache>,
    /// Results that this step holds in memory.
    results: Arc<Mutex<Vec<Arc<MemoryResult>>>>,
}

impl OpenObjects {
    /// Creates a cache with room for `max_kept_bytes` bytes of kept objects and `held_memory` bytes of held objects (see
    /// the module's documentation). If `held_memory` is `None`, all results are stored on disk.
    pub(crate) fn new(max_kept_bytes: u64, held_memory: Option<u64>) -> OpenObjects {
        OpenObjects {
            cache: Arc::new(ObjectCache::new(max_kept_bytes, held_memory)),
            results: Arc::default(),
        }
    }

    /// Returns the same cache for another step.
    pub(crate) fn for_step(&self) -> OpenObjects {
        OpenObjects {
            cache: self.cache.clone(),
            results: Arc::default(),
        }
    }

    /// Returns the result of `open` for a stored object. Steps that use the object at the same time share one result.
    ///
    /// # Errors
    /// The error of `open`.
    pub fn shared<T: Any + Send + Sync>(
        &self,
        object: &Digest,
        open: impl FnOnce() -> Result<T, StepError>,
    ) -> Result<Arc<T>, StepError> {
        self.cache.shared(object, open)
    }

    /// Same as [`shared`](Self::shared), but keeps the result for later steps while there is room for it. `bytes` returns
    /// the memory of the result. Use this for objects that take long to open, for example because a table has to be read
    /// entirely.
    ///
    /// # Errors
    /// The error of `open`.
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

    /// Claims `bytes` bytes for a result that stays in memory. Returns `None` if there is no room.
    pub fn try_claim_for_result(&self, bytes: u64) -> Option<Claim> {
        self.cache.held_memory.as_ref()?.try_claim(bytes)
    }

    /// Holds a result of this step in memory instead of storing it. Steps that use the result get `opened` from
    /// [`get`](Self::get). `claim` is the claim of the memory that the result needs.
    pub fn hold<T: Any + Send + Sync>(&self, object: Stored, opened: Arc<T>, claim: Claim) {
        let held = self.cache.hold(object, opened, claim);
        self.results.lock().push(held);
    }

    /// Returns the opened object that a step passed to [`hold`](Self::hold), if it is still held.
    pub fn get<T: Any + Send + Sync>(&self, object: &Digest) -> Option<Arc<T>> {
        self.cache.find(object)?.opened.clone().downcast().ok()
    }

    /// Returns whether an object is held in memory instead of being stored.
    pub fn holds(&self, object: &Digest) -> bool {
        self.cache.find(object).is_some()
    }

    /// Returns the length of a held object.
    pub(crate) fn len_of(&self, object: &Digest) -> Option<u64> {
        Some(self.cache.find(object)?.object.len)
    }

    /// Returns the results that this step holds, and clears its list.
    pub(crate) fn take_results(&self) -> Vec<Arc<MemoryResult>> {
        std::mem::take(&mut *self.results.lock())
    }
}

struct ObjectCache {
    slots: Mutex<HashMap<(Digest, TypeId), Slot>>,
    /// Kept objects with their memory in bytes, most recently used last.
    kept: Mutex<VecDeque<(OpenedObject, u64)>>,
    /// Maximum total memory of kept objects in bytes.
    max_kept_bytes: u64,
    held: Mutex<HashMap<Digest, Weak<MemoryResult>>>,
    /// Memory budget of held objects. `None` if all results are stored.
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
            // Remove slots that no thread waits for and whose object is no longer used.
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

    /// Keeps an opened object that needs `bytes` bytes of memory. Drops the least recently used objects to make room.
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

    /// Makes an object available to steps as long as the returned value exists.
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
        // The same object opened as another type is independent.
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
        // Wait until both objects are being opened.
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
    /// A file. It may no longer exist.
    Path(PathBuf),
    /// A file on another machine.
    Ranges(Arc<dyn Ranges>),
}

/// Content on another machine that is read in place, range by range. Implementations verify the bytes that they return.
pub trait Ranges: Send + Sync {
    /// Returns the length in bytes.
    fn bytes(&self) -> u64;

    /// Reads up to `buffer.len()` bytes at `offset`. Returns 0 at the end.
    ///
    /// # Errors
    /// If the content is not available, the error contains [`StoreError::Missing`](prep_cache::StoreError::Missing).
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize>;

    /// Announces ranges that will be read later, in any order, so that adjacent ranges can be fetched together.
    fn expect(&self, ranges: Vec<std::ops::Range<u64>>);
}

/// Known locations of content that is not in the cache. Clones share the locations.
#[derive(Clone, Default)]
pub struct OutsideContent {
    locations: Arc<RwLock<HashMap<Digest, Location>>>,
    lost: Arc<RwLock<HashSet<Digest>>>,
}

impl OutsideContent {
    /// Registers the path of content that is not in the cache, such as a bundle.
    pub fn set_path(&self, content: Digest, path: PathBuf) {
        let location = Location::Path(path);
        self.locations.write().insert(content, location);
    }

    /// Registers content that is on another machine, and the object through which it is read.
    pub fn set_ranges(&self, content: Digest, ranges: Arc<dyn Ranges>) {
        let location = Location::Ranges(ranges);
        self.locations.write().insert(content, location);
    }

    /// Returns the location of content that is not in the cache.
    pub fn location(&self, content: &Digest) -> Option<Location> {
        self.locations.read().get(content).cloned()
    }

    /// Records that a step needed this content and did not find it.
    pub(crate) fn record_lost(&self, content: Digest) {
        self.lost.write().insert(content);
    }

    /// Returns whether a step needed any content and did not find it.
    pub(crate) fn has_lost(&self) -> bool {
        !self.lost.read().is_empty()
    }

    /// Returns whether a step needed this content and did not find it. A source that so far only reported the content's
    /// digest then has to fetch the content.
    pub fn is_lost(&self, content: &Digest) -> bool {
        self.lost.read().contains(content)
    }
}
