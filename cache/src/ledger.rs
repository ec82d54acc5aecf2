//! The ledger: which outputs a step key led to.
//!
//! Order of writing: objects first, then the entry. So an entry that can be
//! read names objects that were complete when it was written. They may be gone
//! since (removed by hand, quarantined): a caller counts an entry as a hit
//! only after [`Store::missing`] has found nothing.

use std::collections::BTreeMap;
use std::fs::File;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::layout::Bucket;
use crate::sealed::Loaded;
use crate::{Digest, Store, StoreError};

/// A use is written down when the last one is older than this.
const USE_RESOLUTION: Duration = Duration::from_secs(24 * 60 * 60);

/// What a step made, and from what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The key record whose digest is the key: everything that determined the outputs.
    pub record: serde_json::Value,
    /// The step's outputs by name.
    pub outputs: BTreeMap<String, Digest>,
    /// Objects that the outputs need besides themselves: the files of a tree, say.
    #[serde(default)]
    pub references: Vec<Digest>,
    /// Further objects that the outputs need. They were held in memory and never stored: who wants them makes them anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstored: Vec<Digest>,
    /// Lengths of the [`objects`](Self::objects) in bytes, in their order, of an entry that came from a tier: no more than
    /// that is fetched. Empty where they are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lengths: Vec<u64>,
    /// When the step ran, in seconds since 1970.
    pub created: u64,
    /// How long it took, in milliseconds.
    pub millis: u64,
    /// It ran on another machine: objects that are not here lie in a tier, and come when they are wanted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
}

impl LedgerEntry {
    /// All objects of the store that the entry needs: outputs, then references.
    pub fn objects(&self) -> impl Iterator<Item = &Digest> {
        self.outputs.values().chain(&self.references)
    }
}

impl Store {
    /// The entry of a step key, if there is one. A torn or garbled entry
    /// counts as absent; [`verify`](Self::verify) reports it. Counts as a use
    /// for garbage collection.
    ///
    /// # Errors
    /// When an entry is there but cannot be read.
    pub fn lookup(&self, key: &Digest) -> Result<Option<LedgerEntry>, StoreError> {
        match self.load(Bucket::Ledger, key)? {
            Loaded::Found(entry, file) => {
                if !self.is_read_only() {
                    note_use(&file);
                }
                self.expect(&entry);
                Ok(Some(entry))
            }
            Loaded::Absent | Loaded::Garbled => Ok(None),
        }
    }

    /// [`lookup`](Self::lookup), and then the tier's, for a step of this competition.
    ///
    /// # Errors
    /// Those of `lookup`; when an entry that was found cannot be written.
    pub fn find(&self, key: &Digest, competition: &str) -> Result<Option<LedgerEntry>, StoreError> {
        match self.lookup(key)? {
            None => self.lookup_further(key, competition),
            found => Ok(found),
        }
    }

    /// Writes the entry of a step key, after its objects. A failure must fail
    /// the run: without the entry the work is lost.
    ///
    /// # Errors
    /// When the entry cannot be written.
    pub fn record(&self, key: &Digest, entry: &LedgerEntry) -> Result<(), StoreError> {
        self.save(Bucket::Ledger, key, entry)
    }

    /// The objects of an entry that the store does not have, in the entry's
    /// order, and after them the unstored ones. Looks at directory entries
    /// only. Empty: the entry is a hit. Objects that the tier may have are not
    /// missing.
    pub fn missing(&self, entry: &LedgerEntry) -> Vec<Digest> {
        let missing = self.absent(entry.objects().chain(&entry.unstored));
        missing.filter(|digest| !self.is_further(digest)).collect()
    }

    /// The objects of an entry that are not here but should be: whatever the
    /// tier may have, and without the unstored ones.
    pub fn missing_here(&self, entry: &LedgerEntry) -> Vec<Digest> {
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

/// Best effort: an entry of another user cannot be touched, and need not be.
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

/// Seconds from 1970 to `time`, 0 for earlier times.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
