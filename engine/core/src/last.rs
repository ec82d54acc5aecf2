//! What the history keeps of the steps' earlier runs, read when it is first asked for: a run that finds everything up to
//! date never does.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use prep_cache::{Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::{KeyRecord, Reason};

/// What the history keeps of a step: the record under which it was last up to date, and why it last ran.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LastRun {
    pub record: KeyRecord,
    pub reason: Option<Reason>,
    /// Why it failed, if it did, and would again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The last runs of a competition's steps, by name.
pub type LastSteps = BTreeMap<String, LastRun>;

/// The last runs of all competitions.
#[derive(Debug)]
pub struct LastRuns {
    store: Store,
    variant: String,
    read: Mutex<HashMap<String, Arc<LastSteps>>>,
}

impl LastRuns {
    /// Those that the store knows of a variant.
    pub fn new(store: &Store, variant: &str) -> LastRuns {
        LastRuns {
            store: store.clone(),
            variant: variant.to_owned(),
            read: Mutex::default(),
        }
    }

    /// The last runs of a competition's steps. A record of another version of this program may have another shape: nothing
    /// is known of that step then.
    ///
    /// # Errors
    /// When the history is there but cannot be read.
    pub fn of(&self, competition: &str) -> Result<Arc<LastSteps>, StoreError> {
        let mut read = self.read.lock();
        if let Some(steps) = read.get(competition) {
            return Ok(steps.clone());
        }
        let history = self.store.last_run(competition, &self.variant)?;
        let history = history.unwrap_or_default();
        let steps = history.steps.into_iter();
        let steps = steps
            .filter_map(|(name, step)| Some((name, serde_json::from_value(step.record).ok()?)));
        // A failure is what happened last.
        let failed = history.failed.into_iter().filter_map(|(name, step)| {
            let last: LastRun = serde_json::from_value(step.record).ok()?;
            let failed = Some(step.message);
            Some((name, LastRun { failed, ..last }))
        });
        let steps: Arc<LastSteps> = Arc::new(steps.chain(failed).collect());
        read.insert(competition.to_owned(), steps.clone());
        Ok(steps)
    }
}
