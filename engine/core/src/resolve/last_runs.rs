//! The last runs of steps, from the history. The history is read on first use. A run in which everything is up to date
//! never reads it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use prep_cache::{Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::{KeyRecord, Reason};

/// The last run of a step.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LastRun {
    /// The key record under which the step was last up to date.
    pub record: KeyRecord,
    /// Why the step last ran.
    pub reason: Option<Reason>,
    /// The error message, if the step failed and would fail again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The last runs of a competition's steps, by step name.
pub type LastSteps = BTreeMap<String, LastRun>;

/// The last runs of all competitions, read on first use.
#[derive(Debug)]
pub struct LastRuns {
    store: Store,
    variant: String,
    read: Mutex<HashMap<String, Arc<LastSteps>>>,
}

impl LastRuns {
    /// Creates the reader of one variant's history in `store`.
    pub fn new(store: &Store, variant: &str) -> LastRuns {
        LastRuns {
            store: store.clone(),
            variant: variant.to_owned(),
            read: Mutex::default(),
        }
    }

    /// Returns the last runs of a competition's steps. Records that another version of this program wrote in a
    /// different format are omitted.
    ///
    /// # Errors
    /// If the history exists but cannot be read.
    pub fn load(&self, competition: &str) -> Result<Arc<LastSteps>, StoreError> {
        let mut read = self.read.lock();
        if let Some(steps) = read.get(competition) {
            return Ok(steps.clone());
        }
        let history = self.store.last_run(competition, &self.variant)?;
        let history = history.unwrap_or_default();
        let steps = history.steps.into_iter();
        let steps = steps
            .filter_map(|(name, step)| Some((name, serde_json::from_value(step.record).ok()?)));
        // A recorded failure is the most recent event of its step, so it replaces the earlier record.
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
