//! What a store holds, in numbers.

use std::path::PathBuf;

use crate::layout::Bucket;
use crate::{Store, StoreError, walk};

/// Number and length of some files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of files.
    pub files: u64,
    /// Their bytes in total. Not the blocks they take.
    pub bytes: u64,
}

impl Amount {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

/// What a store holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStat {
    /// Objects.
    pub objects: Amount,
    /// Ledger entries, one per step key.
    pub ledger: Amount,
    /// Recorded last runs.
    pub history: Amount,
    /// Remembered files outside the store.
    pub sources: Amount,
    /// Lists of the members of bundles.
    pub bundles: Amount,
    /// Files being written, or left by a killed process.
    pub temporary: Amount,
    /// Damaged objects kept for a post-mortem. Remove them by hand.
    pub quarantine: Amount,
    /// Bytes free on the store's file system, if it can tell.
    pub free: Option<u64>,
}

impl Store {
    /// Counts what the store holds. Looks at every file's directory entry, at none's bytes.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn stat(&self) -> Result<StoreStat, StoreError> {
        Ok(StoreStat {
            objects: self.amount_of(Bucket::Objects)?,
            ledger: self.amount_of(Bucket::Ledger)?,
            history: self.amount_of(Bucket::History)?,
            sources: self.amount_of(Bucket::Sources)?,
            bundles: self.flat_amount_of(Bucket::Bundles)?,
            temporary: self.flat_amount_of(Bucket::Tmp)?,
            quarantine: self.flat_amount_of(Bucket::Quarantine)?,
            free: self.free_space(),
        })
    }

    fn amount_of(&self, bucket: Bucket) -> Result<Amount, StoreError> {
        let listing = walk::list(self.root(), bucket)?;
        let files = listing.digests.iter();
        Ok(sum(files.map(|digest| bucket.file(self.root(), digest))))
    }

    fn flat_amount_of(&self, bucket: Bucket) -> Result<Amount, StoreError> {
        let files = walk::entries(&bucket.dir(self.root()))?;
        Ok(sum(files.into_iter().map(|(_, path)| path)))
    }
}

fn sum(files: impl Iterator<Item = PathBuf>) -> Amount {
    let mut amount = Amount::default();
    // A file that vanished since the listing is not counted.
    for metadata in files.filter_map(|path| path.symlink_metadata().ok()) {
        amount.add(metadata.len());
    }
    amount
}
