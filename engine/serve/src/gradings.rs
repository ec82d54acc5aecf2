//! Answers, rules and leaderboards, read at the first request and kept while the prepared data are the same.
//!
//! The server also starts if the competition is not prepared yet. It then reads the answers again at every request until
//! they exist. If a run prepares the competition again, the next request reads the new answers.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prep_app::{Catalog, Error, Grading, Settings};

/// The grading of one competition, read at the first request.
type Place = Arc<Mutex<Option<Arc<Grading>>>>;

pub(crate) struct Gradings {
    settings: Settings,
    catalog: Catalog,
    open: Mutex<HashMap<String, Place>>,
}

impl Gradings {
    pub(crate) fn new(settings: Settings, catalog: Catalog) -> Gradings {
        Gradings {
            settings,
            catalog,
            open: Mutex::default(),
        }
    }

    pub(crate) fn knows(&self, id: &str) -> bool {
        self.catalog.find(id).is_some()
    }

    /// Returns the grading of a competition. The first caller reads the answers, and the others wait.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<Grading>, Error> {
        // Only known ids get an entry, because clients choose the ids.
        self.catalog.get(id)?;
        let place = {
            let mut open = self.open.lock();
            Arc::clone(open.entry(id.to_owned()).or_default())
        };
        let mut place = place.lock();
        if let Some(grading) = place.as_ref().filter(|grading| grading.is_current()) {
            return Ok(Arc::clone(grading));
        }
        *place = None;
        let grading = Arc::new(Grading::of_any_origin(&self.catalog, &self.settings, id)?);
        *place = Some(Arc::clone(&grading));
        Ok(grading)
    }
}
