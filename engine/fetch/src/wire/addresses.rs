//! Caches signed addresses, so that listing and then fetching a bundle needs only one API call.

use std::collections::HashMap;

use crate::wire::location::Location;
use parking_lot::Mutex;

/// The last signed address of each bundle, until the object store rejects it.
#[derive(Default)]
pub(crate) struct Addresses(Mutex<HashMap<String, Location>>);

impl Addresses {
    pub(crate) fn get(&self, id: &str) -> Option<Location> {
        self.0.lock().get(id).cloned()
    }

    pub(crate) fn insert(&self, id: &str, location: Location) {
        self.0.lock().insert(id.to_owned(), location);
    }

    /// Removes the address of a bundle. Called if the object store rejects it because it has expired.
    pub(crate) fn forget(&self, id: &str) {
        self.0.lock().remove(id);
    }
}
