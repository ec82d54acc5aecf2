//! The ledger maps the key of a step to the outputs of the step.
//!
//! Objects are written first, then the entry. So an entry that can be read names objects that were complete when it was
//! written. They may have been removed by hand or quarantined since. A caller may use an entry only if
//! [`Store::missing`] returns nothing.

use std::collections::BTreeMap;
use std::fs::File;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::layout::Bucket;
use crate::sealed::RecordRead;
use crate::{Digest, Store, StoreError};

/// An entry's last use is updated only if the recorded one is older than this.
const USE_RESOLUTION: Duration = Duration::from_secs(24 * 60 * 60);

/// The outputs of a step, and the record of what determined them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The key record. Its digest is the key.
    pub record: serde_json::Value,
    /// Digests of the step's outputs, by name.
    pub outputs: BTreeMap<String, Digest>,
    /// Further objects that the outputs refer to, for example the files of a tree.
    #[serde(default)]
    pub references: Vec<Digest>,
    /// Further objects that the outputs refer to but that were only kept in memory. To use them, the step must run
    /// again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstored: Vec<Digest>,
    /// Lengths in bytes of the [`objects`](Self::objects), in the same order, if the entry came from a tier. They limit
    /// the bytes fetched for each object. Empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lengths: Vec<u64>,
    /// Time of the step's run, in seconds since 1970.
    pub created: u64,
    /// Duration of the step's run in milliseconds.
    pub millis: u64,
    /// Whether the step ran on another machine. Objects that are missing here are in a tier and are fetched on first
    /// use.
    #[serde(
        rename = "elsewhere",
        default,
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub is_remote: bool,
}

impl LedgerEntry {
    /// Returns the objects that the store must have for this entry: outputs, then references.
    pub fn objects(&self) -> impl Iterator<Item = &Digest> {
        self.outputs.values().chain(&self.references)
    }
}

impl Store {
    /// Returns the entry of a step key, if the store has one. A truncated or modified entry is treated as absent;
    /// [`verify`](Self::verify) reports it. A lookup is a use for garbage collection.
    ///
    /// # Errors
    /// If an entry exists but cannot be read.
    pub fn lookup(&self, key: &Digest) -> Result<Option<LedgerEntry>, StoreError> {
        match self.load(Bucket::Ledger, key)? {
            RecordRead::Found(entry, file) => {
                if !self.is_read_only() {
                    note_use(&file);
                }
                self.announce_lengths(&entry);
                Ok(Some(entry))
            }
            RecordRead::Absent | RecordRead::Garbled => Ok(None),
        }
    }

    /// Like [`lookup`](Self::lookup), but also queries the tier, for a step of this competition.
    ///
    /// # Errors
    /// The errors of `lookup`, and an error if an entry of the tier cannot be saved here.
    pub fn find(&self, key: &Digest, competition: &str) -> Result<Option<LedgerEntry>, StoreError> {
        match self.lookup(key)? {
            None => self.lookup_in_tier(key, competition),
            found => Ok(found),
        }
    }

    /// Writes the entry of a step key. Write its objects before. A caller must treat an error as a failure of the step:
    /// without the entry, its work is lost.
    ///
    /// # Errors
    /// If the entry cannot be written.
    pub fn record(&self, key: &Digest, entry: &LedgerEntry) -> Result<(), StoreError> {
        self.save(Bucket::Ledger, key, entry)
    }

    /// Returns the objects of an entry that are missing, in the entry's order, followed by the missing unstored ones.
    /// Objects that the tier may have are not missing. An empty result means that the entry is a hit. Checks only
    /// whether the files exist.
    pub fn missing(&self, entry: &LedgerEntry) -> Vec<Digest> {
        let missing = self.absent(entry.objects().chain(&entry.unstored));
        missing
            .filter(|digest| !self.may_be_in_tier(digest))
            .collect()
    }

    /// Returns the objects of an entry that should be in this store and are not. Ignores the tier and unstored objects.
    pub fn missing_locally(&self, entry: &LedgerEntry) -> Vec<Digest> {
        self.absent(entry.objects()).collect()
    }

    fn absent<'a>(
        &self,
        objects: impl Iterator<Item = &'a Digest>,
    ) -> impl Iterator<Item = Digest> {
        objects
            .filter(|digest| self.len_of(digest).is_none())
            .copied()
    }
}

/// Does nothing on failure: an entry of another user cannot be changed, and need not be.
fn note_use(file: &File) {
    let now = SystemTime::now();
    let last = file.metadata().and_then(|metadata| metadata.modified());
    let is_recent = last.is_ok_and(|last| {
        now.duration_since(last)
            .is_ok_and(|age| age < USE_RESOLUTION)
    });
    if !is_recent {
        let _ = file.set_modified(now);
    }
}

/// Returns the seconds from 1970 to `time`, 0 for earlier times.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
