//! What steps that run side by side make once and use together: the opened form of a stored object.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use prep_cache::Digest;

use crate::StepError;

/// A place for one opened object. Its lock is held while the object is opened, so that nobody opens it a second time
/// meanwhile; others are opened at the same time.
type Place = Arc<Mutex<Option<Weak<dyn Any + Send + Sync>>>>;

/// Opened objects, for as long as somebody uses them.
#[derive(Default)]
pub(crate) struct SharedObjects {
    places: Mutex<HashMap<(Digest, TypeId), Place>>,
}

impl SharedObjects {
    pub fn get<T: Any + Send + Sync>(
        &self,
        object: &Digest,
        open: impl FnOnce() -> Result<T, StepError>,
    ) -> Result<Arc<T>, StepError> {
        let place = {
            let mut places = held(&self.places);
            // Places that nobody waits at and whose object nobody uses any more.
            places.retain(|_, place| {
                Arc::strong_count(place) > 1
                    || place.try_lock().is_ok_and(|known| {
                        known.as_ref().is_some_and(|known| known.strong_count() > 0)
                    })
            });
            places
                .entry((*object, TypeId::of::<T>()))
                .or_default()
                .clone()
        };
        let mut known = held(&place);
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

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn an_object_is_opened_once_while_it_is_used_and_again_afterwards() {
        let shared = SharedObjects::default();
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
    fn different_objects_are_opened_at_the_same_time() {
        let shared = SharedObjects::default();
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
