//! The last run of each competition and variant. It answers why a step ran: its key record is compared field by field
//! with the record of the last run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::layout::Bucket;
use crate::records::sealed::RecordRead;
use crate::{Digest, Store, StoreError};

/// The steps of a recorded run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Time of the run in seconds since 1970. Garbage collection treats it as the last use of the keys below.
    pub recorded: u64,
    /// The steps that succeeded, by name.
    pub steps: BTreeMap<String, HistoryStep>,
    /// Steps whose last run failed and would fail again, because the failure depends only on their key record. They
    /// stay in the history even if later runs do not contain them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, FailedStep>,
    /// Earlier runs, latest first. Their records are in the ledger as long as garbage collection keeps them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierRun>,
}

/// The time and the step keys of an earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EarlierRun {
    /// Time of the run in seconds since 1970.
    pub recorded: u64,
    /// The key of each step, by the step's name.
    pub steps: BTreeMap<String, Digest>,
}

/// Maximum number of earlier runs that a history keeps.
const MAX_EARLIER_RUNS: usize = 20;

impl History {
    /// Returns the time and keys of this run.
    pub fn as_earlier_run(&self) -> EarlierRun {
        let steps = self.steps.iter();
        EarlierRun {
            recorded: self.recorded,
            steps: steps.map(|(name, step)| (name.clone(), step.key)).collect(),
        }
    }

    /// Returns the keys of the last run and of earlier ones.
    pub fn keys(&self) -> impl Iterator<Item = Digest> {
        let last = self.steps.values().map(|step| step.key);
        let earlier = self
            .earlier
            .iter()
            .flat_map(|moment| moment.steps.values().copied());
        last.chain(earlier)
    }

    /// Returns the history after another run. The current run becomes an earlier run, unless its steps have the same
    /// keys.
    #[must_use]
    pub fn followed_by(
        self,
        recorded: u64,
        steps: BTreeMap<String, HistoryStep>,
        failed: BTreeMap<String, FailedStep>,
    ) -> History {
        let before = self.as_earlier_run();
        let mut earlier = self.earlier;
        let mut next = History {
            recorded,
            steps,
            failed,
            earlier: Vec::new(),
        };
        if !before.steps.is_empty() && before.steps != next.as_earlier_run().steps {
            earlier.insert(0, before);
            earlier.truncate(MAX_EARLIER_RUNS);
        }
        next.earlier = earlier;
        next
    }
}

/// The key of a step in a run, and the key record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryStep {
    /// The step's key: the digest of `record`.
    pub key: Digest,
    /// Everything that determined the step's outputs.
    pub record: serde_json::Value,
}

/// A step that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedStep {
    /// Everything that determined the failure.
    pub record: serde_json::Value,
    /// The error message.
    pub message: String,
}

/// A stored history. It includes the competition and the variant for people who read the file.
#[derive(Serialize, Deserialize)]
pub(crate) struct NamedHistory {
    pub(crate) competition: String,
    variant: String,
    pub(crate) history: History,
}

impl Store {
    /// Returns the history that [`set_last_run`](Self::set_last_run) stored last, or `None` if it does not exist or is
    /// damaged.
    ///
    /// # Errors
    /// If the record exists but cannot be read.
    pub fn last_run(
        &self,
        competition: &str,
        variant: &str,
    ) -> Result<Option<History>, StoreError> {
        match self.load(Bucket::History, &name_of(competition, variant))? {
            RecordRead::Found(NamedHistory { history, .. }, _) => Ok(Some(history)),
            RecordRead::Absent | RecordRead::Garbled => Ok(None),
        }
    }

    /// Replaces the history of a competition and variant.
    ///
    /// # Errors
    /// If the record cannot be written.
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
    Digest::of_bytes(format!("{} {competition} {variant}", competition.len()).as_bytes())
}
