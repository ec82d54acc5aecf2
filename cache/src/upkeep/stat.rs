//! Counts the files of a store.

use std::path::PathBuf;

use crate::layout::Bucket;
use crate::upkeep::walk;
use crate::{Store, StoreError};

/// Number and total length of some files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of files.
    pub files: u64,
    /// Total length in bytes, not the disk blocks used.
    pub bytes: u64,
}

impl Amount {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

/// Number and size of all files in a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStat {
    /// Objects.
    pub objects: Amount,
    /// Ledger entries, one per step key.
    pub ledger: Amount,
    /// Recorded last runs.
    pub history: Amount,
    /// Records of files outside the store.
    pub sources: Amount,
    /// Member lists of bundles.
    pub bundles: Amount,
    /// Files that are being written, or were left by a killed process.
    pub temporary: Amount,
    /// Damaged objects, which are kept for inspection. Users remove them by hand.
    pub quarantine: Amount,
    /// Free bytes on the store's file system, if the system reports them.
    pub free: Option<u64>,
}

impl Store {
    /// Counts the files of the store and adds up their lengths. Reads only directory entries, no contents.
    ///
    /// # Errors
    /// If a directory cannot be listed.
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
    // A file that was removed after the listing is not counted.
    for metadata in files.filter_map(|path| path.symlink_metadata().ok()) {
        amount.add(metadata.len());
    }
    amount
}
