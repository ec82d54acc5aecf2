//! The last runs of steps, from the history. The history is read on first use. A run in which everything is up to date
//! never reads it.
//!
//! A history belongs to a target directory, not to a competition: another directory's runs explain nothing about this
//! one. A directory can be replaced by a copy of another one, so a history is only used if it contains the publication
//! that the directory records.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use prep_cache::{Digest, History, HistoryScope, Store, StoreError};
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

/// Returns the key of the publication that a target directory records for a competition.
type PublishedKey = Box<dyn Fn(&str) -> Option<Digest> + Send + Sync>;

/// A competition's history, and the last runs of its steps.
#[derive(Clone)]
struct ReadHistory {
    history: Arc<History>,
    steps: Arc<LastSteps>,
}

/// The last runs of all competitions into one target directory, read on first use.
pub struct LastRuns {
    /// `None` if the runs have no history.
    place: Option<(Store, HistoryScope)>,
    published: PublishedKey,
    read: Mutex<HashMap<String, ReadHistory>>,
}

impl LastRuns {
    /// Creates the reader of the histories of a scope in `store`. `published` returns the key of the publication that
    /// the target directory records for a competition, if it records one.
    pub fn new(
        store: &Store,
        scope: HistoryScope,
        published: impl Fn(&str) -> Option<Digest> + Send + Sync + 'static,
    ) -> LastRuns {
        LastRuns {
            place: Some((store.clone(), scope)),
            published: Box::new(published),
            read: Mutex::default(),
        }
    }

    /// Creates a reader for runs that have no target directory, such as previews. They leave no history.
    pub fn without_history() -> LastRuns {
        LastRuns {
            place: None,
            published: Box::new(|_| None),
            read: Mutex::default(),
        }
    }

    /// Returns the last runs of a competition's steps. Records that another version of this program wrote in a
    /// different format are omitted.
    ///
    /// # Errors
    /// If the history exists but cannot be read.
    pub fn load(&self, competition: &str) -> Result<Arc<LastSteps>, StoreError> {
        Ok(self.read(competition)?.steps)
    }

    /// Returns the history of a competition, which is empty if there is none.
    ///
    /// # Errors
    /// If the history exists but cannot be read.
    pub fn history(&self, competition: &str) -> Result<Arc<History>, StoreError> {
        Ok(self.read(competition)?.history)
    }

    /// Stores the history of a competition in `store`, for later runs. The store from which histories are read may be
    /// opened for reading only.
    pub(crate) fn set(
        &self,
        store: &Store,
        competition: &str,
        history: &History,
    ) -> Result<(), StoreError> {
        match &self.place {
            Some((_, scope)) => store.set_last_run(competition, scope, history),
            None => Ok(()),
        }
    }

    fn read(&self, competition: &str) -> Result<ReadHistory, StoreError> {
        let mut read = self.read.lock();
        if let Some(found) = read.get(competition) {
            return Ok(found.clone());
        }
        let history = match &self.place {
            Some((store, scope)) => store.last_run(competition, scope)?.unwrap_or_default(),
            None => History::default(),
        };
        let history = match (self.published)(competition) {
            // These are the runs of a directory that was here before.
            Some(key) if history.steps.values().all(|step| step.key != key) => History::default(),
            _ => history,
        };
        let found = ReadHistory {
            steps: Arc::new(steps(&history)),
            history: Arc::new(history),
        };
        read.insert(competition.to_owned(), found.clone());
        Ok(found)
    }
}

fn steps(history: &History) -> LastSteps {
    let steps = history.steps.iter();
    let steps =
        steps.filter_map(|(name, step)| Some((name, LastRun::deserialize(&step.record).ok()?)));
    // A recorded failure is the most recent event of its step, so it replaces the earlier record.
    let failed = history.failed.iter().filter_map(|(name, step)| {
        let last = LastRun::deserialize(&step.record).ok()?;
        let failed = Some(step.message.clone());
        Some((name, LastRun { failed, ..last }))
    });
    let all = steps.chain(failed);
    all.map(|(name, last)| (name.clone(), last)).collect()
}
