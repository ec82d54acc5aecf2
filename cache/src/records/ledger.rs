//! The ledger and its entries: maps the key of a step to the outputs of the step.
//!
//! Objects are written first, then the entry. Therefore the objects of a readable entry were complete when the entry
//! was written. They may have been removed or quarantined since. A caller may use an entry only if [`Store::missing`]
//! returns no object.

use std::collections::BTreeMap;
use std::fs::File;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::sealed::RecordRead;
use crate::layout::Bucket;
use crate::{Digest, Store, StoreError};

/// The last use of an entry is updated only if the recorded time is older than this.
const USE_RESOLUTION: Duration = Duration::from_secs(24 * 60 * 60);

impl Store {
    /// Returns the entry of a step key, if the store has one. A truncated or modified entry is treated as absent, and
    /// [`verify`](Self::verify) reports it. Garbage collection treats a lookup as a use.
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

    /// Same as [`lookup`](Self::lookup), but also queries the tier, for a step of this competition.
    ///
    /// # Errors
    /// The errors of `lookup`, and an error if an entry of the tier cannot be stored on this machine.
    pub fn find(&self, key: &Digest, competition: &str) -> Result<Option<LedgerEntry>, StoreError> {
        match self.lookup(key)? {
            None => self.lookup_in_tier(key, competition),
            found => Ok(found),
        }
    }

    /// Writes the entry of a step key. The objects must be written before. A caller must treat an error as a failure of
    /// the step, because without the entry the result cannot be found.
    ///
    /// # Errors
    /// If the entry cannot be written.
    pub fn record(&self, key: &Digest, entry: &LedgerEntry) -> Result<(), StoreError> {
        self.save(Bucket::Ledger, key, entry)
    }

    /// Returns the objects of an entry that are missing, in the entry's order, followed by the missing unstored
    /// objects. If the result is empty, the entry can be used. Objects that the tier may have are not treated as
    /// missing. Checks only whether the files exist.
    pub fn missing(&self, entry: &LedgerEntry) -> Vec<Digest> {
        let missing = self.absent(entry.objects().chain(&entry.unstored));
        missing
            .filter(|digest| !self.may_be_in_tier(digest))
            .collect()
    }

    /// Returns the objects of an entry that should be in this store but are missing. Ignores the tier and unstored
    /// objects.
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

/// Updates the time of the last use. Errors are ignored, because the entry may belong to another user, who updates it.
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

/// Returns the current time in seconds since 1970.
pub fn unix_seconds() -> u64 {
    seconds(SystemTime::now())
}

/// Returns the seconds from 1970 to `time`, 0 for earlier times.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// The outputs of a step, and the key record that determined them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The key record. Its digest is the key.
    pub record: serde_json::Value,
    /// Digests of the step's outputs, by name.
    pub outputs: BTreeMap<String, Digest>,
    /// Further objects that the outputs refer to, for example the files of a tree.
    #[serde(default)]
    pub references: Vec<Digest>,
    /// Further objects that the outputs refer to, which were only kept in memory. If they are needed, the step must run
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
    /// Whether the step ran on another machine. Objects that are missing on this machine are in a tier and are fetched
    /// on first use.
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
