//! What steps make once and use together: the opened form of a stored object.
//!
//! It lives as long as a step uses it. What took a pass over its bytes and is small may be kept for the steps that come next.

use std::any::{Any, TypeId};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use prep_cache::Digest;

use crate::StepError;

/// A place for one opened object. Its lock is held while the object is opened, so that nobody opens it a second time
/// meanwhile; others are opened at the same time.
type Place = Arc<Mutex<Option<Weak<dyn Any + Send + Sync>>>>;

/// What is kept for later, the one that was used last at the end.
type Kept = VecDeque<Keeping>;

struct Keeping {
    opened: Arc<dyn Any + Send + Sync>,
    bytes: u64,
}

/// So many objects are kept at most: each may be mapped into memory.
const MOST_KEPT: usize = 64;

/// Opened objects, for as long as somebody uses them, and the last ones that are to be kept.
pub(crate) struct SharedObjects {
    places: Mutex<HashMap<(Digest, TypeId), Place>>,
    kept: Mutex<Kept>,
    /// Bytes of memory that kept ones may have together.
    room: u64,
}

impl SharedObjects {
    pub fn new(room: u64) -> SharedObjects {
        SharedObjects {
            places: Mutex::default(),
            kept: Mutex::default(),
            room,
        }
    }

    /// Keeps an opened object that has so many bytes of memory, in place of those that were used longest ago.
    pub fn keep(&self, opened: Arc<dyn Any + Send + Sync>, bytes: u64) {
        if bytes > self.room {
            return;
        }
        let mut kept = self.kept.lock();
        kept.retain(|known| !Arc::ptr_eq(&known.opened, &opened));
        kept.push_back(Keeping { opened, bytes });
        let mut taken: u64 = kept.iter().map(|known| known.bytes).sum();
        while kept.len() > MOST_KEPT || taken > self.room {
            let first = kept.pop_front();
            taken -= first.map_or(0, |first| first.bytes);
        }
    }

    pub fn get<T: Any + Send + Sync>(
        &self,
        object: &Digest,
        open: impl FnOnce() -> Result<T, StepError>,
    ) -> Result<Arc<T>, StepError> {
        let place = {
            let mut places = self.places.lock();
            // Places that nobody waits at and whose object nobody uses any more.
            places.retain(|_, place| {
                Arc::strong_count(place) > 1
                    || place.try_lock().is_some_and(|known| {
                        known.as_ref().is_some_and(|known| known.strong_count() > 0)
                    })
            });
            places
                .entry((*object, TypeId::of::<T>()))
                .or_default()
                .clone()
        };
        let mut known = place.lock();
        let here = known.as_ref().and_then(Weak::upgrade);
        if let Some(here) = here.and_then(|any| any.downcast::<T>().ok()) {
            return Ok(here);
        }
        let opened: Arc<T> = Arc::new(open()?);
        let any: Arc<dyn Any + Send + Sync> = opened.clone();
        *known = Some(Arc::downgrade(&any));
        Ok(opened)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that panics has failed")]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn an_object_is_opened_once_while_it_is_used_and_again_afterwards() {
        let shared = SharedObjects::new(100);
        let object = Digest::of(b"a");
        let open = |number: u32| shared.get(&object, || Ok(number)).map(|opened| *opened);
        let first = shared.get(&object, || Ok(1_u32));
        assert!(matches!(open(2), Ok(1)));
        // Another form of the same object is another thing.
        assert!(matches!(shared.get(&object, || Ok("text")), Ok(text) if *text == "text"));
        drop(first);
        assert!(matches!(open(3), Ok(3)));
        let failed = shared.get::<u32>(&object, || Err(StepError::Cancelled));
        assert!(failed.is_err());
        assert!(matches!(open(4), Ok(4)), "a failure is not kept");
    }

    #[test]
    fn the_last_objects_that_have_room_are_kept() {
        let shared = SharedObjects::new(100);
        let open = |name: &[u8], number: u32, bytes: u64| {
            let opened = shared.get(&Digest::of(name), || Ok(number)).unwrap();
            shared.keep(opened.clone(), bytes);
            *opened
        };
        assert_eq!(open(b"a", 1, 40), 1);
        assert_eq!(open(b"b", 2, 40), 2);
        assert_eq!(open(b"a", 3, 40), 1, "kept, and used last now");
        assert_eq!(open(b"c", 4, 40), 4);
        assert_eq!(open(b"b", 5, 40), 5, "made room for c");
        assert_eq!(open(b"d", 6, 101), 6);
        assert_eq!(open(b"d", 7, 101), 7, "too large to be kept");
        assert_eq!(open(b"c", 8, 40), 4);
    }

    #[test]
    fn different_objects_are_opened_at_the_same_time() {
        let shared = SharedObjects::new(100);
        // Passed only when both are being opened.
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            for name in [b"a", b"b"] {
                let (shared, both) = (&shared, &both);
                scope.spawn(move || {
                    let opened = shared.get(&Digest::of(name), || Ok(both.wait().is_leader()));
                    assert!(opened.is_ok());
                });
            }
        });
    }
}
