//! The last run of each competition and variant, so that "why did this step
//! run" is a comparison of two key records, field by field.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::layout::Bucket;
use crate::sealed::Loaded;
use crate::{Digest, Store, StoreError};

/// The steps of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// When the run was recorded, in seconds since 1970. Also counts as a use
    /// of the keys below for garbage collection.
    pub recorded: u64,
    /// By step name.
    pub steps: BTreeMap<String, HistoryStep>,
    /// Steps that failed when they last ran, as they would again: nothing but their record decides that. They stay while
    /// runs leave them out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, FailedStep>,
    /// Earlier runs, the latest first: what they were is in the ledger, as long as it is kept there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Moment>,
}

/// An earlier run: when, and the key of each step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// In seconds since 1970.
    pub recorded: u64,
    pub steps: BTreeMap<String, Digest>,
}

/// Earlier runs that are kept.
const MOMENTS: usize = 20;

impl History {
    /// The run itself, as a moment.
    pub fn moment(&self) -> Moment {
        let steps = self.steps.iter();
        Moment {
            recorded: self.recorded,
            steps: steps.map(|(name, step)| (name.clone(), step.key)).collect(),
        }
    }

    /// The history after this run: what it was before is an earlier moment, unless the steps are the same.
    #[must_use]
    pub fn followed_by(
        self,
        recorded: u64,
        steps: BTreeMap<String, HistoryStep>,
        failed: BTreeMap<String, FailedStep>,
    ) -> History {
        let before = self.moment();
        let mut earlier = self.earlier;
        let mut next = History {
            recorded,
            steps,
            failed,
            earlier: Vec::new(),
        };
        if !before.steps.is_empty() && before.steps != next.moment().steps {
            earlier.insert(0, before);
            earlier.truncate(MOMENTS);
        }
        next.earlier = earlier;
        next
    }
}

/// What a step was in that run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryStep {
    /// Its key: the digest of the record.
    pub key: Digest,
    /// Everything that determined its outputs.
    pub record: serde_json::Value,
}

/// What a step was that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedStep {
    /// Everything that determined the failure.
    pub record: serde_json::Value,
    pub message: String,
}

/// A history as it is stored: with its names, for people who look at the file.
#[derive(Serialize, Deserialize)]
pub(crate) struct NamedHistory {
    competition: String,
    variant: String,
    pub(crate) history: History,
}

impl Store {
    /// What [`set_last_run`](Self::set_last_run) stored last, if it is there and whole.
    ///
    /// # Errors
    /// When it is there but cannot be read.
    pub fn last_run(
        &self,
        competition: &str,
        variant: &str,
    ) -> Result<Option<History>, StoreError> {
        match self.load(Bucket::History, &name_of(competition, variant))? {
            Loaded::Found(NamedHistory { history, .. }, _) => Ok(Some(history)),
            Loaded::Absent | Loaded::Garbled => Ok(None),
        }
    }

    /// Replaces the last run of a competition and variant.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn set_last_run(
        &self,
        competition: &str,
        variant: &str,
        history: &History,
    ) -> Result<(), StoreError> {
        let named = NamedHistory {
            competition: competition.to_owned(),
            variant: variant.to_owned(),
            history: history.clone(),
        };
        self.save(Bucket::History, &name_of(competition, variant), &named)
    }
}

fn name_of(competition: &str, variant: &str) -> Digest {
    // The length keeps ("a", "bc") and ("ab", "c") apart.
    Digest::of(format!("{} {competition} {variant}", competition.len()).as_bytes())
}
