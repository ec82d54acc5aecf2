//! Reads answers, rules and leaderboards at the first request, and reuses them while the prepared data do not change.
//!
//! The server also starts if the competition is not prepared yet. Then each request tries to read the answers until
//! they exist. If a run prepares the competition again, the next request reads the new answers.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prep_app::{Catalog, Error, Grading, GradingLog, Settings};

/// The grading of one competition. `None` until the first request reads it.
type GradingSlot = Arc<Mutex<Option<Arc<Grading>>>>;

pub(crate) struct Gradings {
    settings: Settings,
    catalog: Catalog,
    /// The log of gradings. `None` if clients get no scores.
    log: Option<GradingLog>,
    open: Mutex<HashMap<String, GradingSlot>>,
}

impl Gradings {
    pub(crate) fn new(settings: Settings, catalog: Catalog, log: Option<GradingLog>) -> Gradings {
        Gradings {
            settings,
            catalog,
            log,
            open: Mutex::default(),
        }
    }

    pub(crate) fn knows(&self, id: &str) -> bool {
        self.catalog.find(id).is_some()
    }

    /// Returns the grading of a competition. The first caller reads the answers, and the others wait.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<Grading>, Error> {
        // Only known ids get a slot. Otherwise clients could fill the memory with slots for arbitrary ids.
        self.catalog.get(id)?;
        let slot = {
            let mut open = self.open.lock();
            Arc::clone(open.entry(id.to_owned()).or_default())
        };
        let mut slot = slot.lock();
        if let Some(grading) = slot.as_ref().filter(|grading| grading.is_current()) {
            return Ok(Arc::clone(grading));
        }
        *slot = None;
        let grading = Grading::of_any_origin(&self.catalog, &self.settings, id)?;
        let grading = Arc::new(match &self.log {
            Some(log) => grading.logged(&self.settings, log),
            None => grading,
        });
        *slot = Some(Arc::clone(&grading));
        Ok(grading)
    }
}
