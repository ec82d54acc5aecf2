//! The last run of each competition, variant and target directory. It answers why a step ran: its key record is
//! compared field by field with the record of the last run.
//!
//! Several directories can use one cache. Each has its own history, because a run into one directory explains nothing
//! about another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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

/// The runs that a history describes: those of one variant into one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryScope {
    variant: String,
    directory: PathBuf,
}

impl HistoryScope {
    /// Returns the scope of runs into `directory`, which need not exist. Two paths of one directory have the same
    /// scope.
    pub fn new(variant: &str, directory: &Path) -> HistoryScope {
        HistoryScope {
            variant: variant.to_owned(),
            directory: resolved(directory),
        }
    }

    fn name_of(&self, competition: &str) -> Digest {
        // The lengths keep ("a", "bc") and ("ab", "c") apart.
        let (lengths, variant) = ((competition.len(), self.variant.len()), &self.variant);
        let name = format!("{} {} {competition} {variant} ", lengths.0, lengths.1);
        let mut name = name.into_bytes();
        name.extend_from_slice(self.directory.as_os_str().as_encoded_bytes());
        Digest::of_bytes(&name)
    }
}

/// Returns the absolute path without symbolic links, as far as its directories exist.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for existing in absolute.ancestors() {
        let (Ok(real), Ok(rest)) = (existing.canonicalize(), absolute.strip_prefix(existing))
        else {
            continue;
        };
        return match rest.as_os_str().is_empty() {
            true => real,
            false => real.join(rest),
        };
    }
    absolute
}

/// A stored history. It includes the competition, the variant and the directory for people who read the file.
#[derive(Serialize, Deserialize)]
pub(crate) struct NamedHistory {
    pub(crate) competition: String,
    variant: String,
    #[serde(default)]
    directory: String,
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
        scope: &HistoryScope,
    ) -> Result<Option<History>, StoreError> {
        match self.load(Bucket::History, &scope.name_of(competition))? {
            RecordRead::Found(NamedHistory { history, .. }, _) => Ok(Some(history)),
            RecordRead::Absent | RecordRead::Garbled => Ok(None),
        }
    }

    /// Replaces the history of a competition in a scope.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn set_last_run(
        &self,
        competition: &str,
        scope: &HistoryScope,
        history: &History,
    ) -> Result<(), StoreError> {
        let named = NamedHistory {
            competition: competition.to_owned(),
            variant: scope.variant.clone(),
            directory: scope.directory.display().to_string(),
            history: history.clone(),
        };
        self.save(Bucket::History, &scope.name_of(competition), &named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_a_directory_whatever_its_path() -> Result<(), Box<dyn std::error::Error>> {
        let temp = tempfile::tempdir()?;
        let (one, other) = (temp.path().join("one"), temp.path().join("other"));
        let before = HistoryScope::new("v1", &one.join("inner"));
        std::fs::create_dir_all(one.join("inner"))?;
        std::os::unix::fs::symlink(&one, &other)?;
        let name = |variant: &str, path: &Path| HistoryScope::new(variant, path).name_of("a");
        assert_eq!(before.name_of("a"), name("v1", &one.join("inner")));
        assert_eq!(before.name_of("a"), name("v1", &other.join("inner")));
        assert_ne!(before.name_of("a"), name("v1", &one));
        assert_ne!(before.name_of("a"), name("fixed", &one.join("inner")));
        assert_ne!(before.name_of("a"), before.name_of("b"));
        Ok(())
    }
}
