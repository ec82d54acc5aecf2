//! Results that are held in memory instead of being stored, for as long as a step may want them.
//!
//! What takes a step no longer to make than to read is not worth its disk. Such a step claims room here and holds its
//! object; the ledger's entry calls the object unstored. The scheduler keeps it until all steps that are given it have
//! ended. A later run that needs it finds it missing and runs the step again, as for any object that was lost.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};
use prep_cache::{Digest, Stored};

use crate::Claim;
use crate::memory::Memory;

/// An object in memory. It is there as long as this lives.
pub(crate) struct Held {
    object: Stored,
    opened: Arc<dyn Any + Send + Sync>,
    _claim: Claim,
}

impl Held {
    pub fn object(&self) -> &Digest {
        &self.object.digest
    }
}

/// Which objects are held.
pub(crate) struct HeldObjects {
    /// None: all results are stored.
    room: Option<Memory>,
    known: Mutex<HashMap<Digest, Weak<Held>>>,
}

impl HeldObjects {
    /// So many bytes may be held together; none: all results are stored.
    pub fn new(room: Option<u64>) -> HeldObjects {
        HeldObjects {
            room: room.map(Memory::new),
            known: Mutex::default(),
        }
    }

    pub fn try_claim(&self, bytes: u64) -> Option<Claim> {
        self.room.as_ref()?.try_claim(bytes)
    }

    /// Holds an object for as long as what is returned lives.
    pub fn hold(
        &self,
        object: Stored,
        opened: Arc<dyn Any + Send + Sync>,
        claim: Claim,
    ) -> Arc<Held> {
        let held = Arc::new(Held {
            object,
            opened,
            _claim: claim,
        });
        let mut known = self.known();
        known.retain(|_, held| held.strong_count() > 0);
        known.insert(object.digest, Arc::downgrade(&held));
        held
    }

    pub fn get<T: Any + Send + Sync>(&self, object: &Digest) -> Option<Arc<T>> {
        self.find(object)?.opened.clone().downcast().ok()
    }

    pub fn len_of(&self, object: &Digest) -> Option<u64> {
        Some(self.find(object)?.object.len)
    }

    fn find(&self, object: &Digest) -> Option<Arc<Held>> {
        self.known().get(object)?.upgrade()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Digest, Weak<Held>>> {
        self.known.lock()
    }
}
