//! A second level of the store, which contains results that many machines share.
//!
//! A store with a tier requests missing entries and objects from the tier, and stores them. Therefore users of a store
//! do not have to know about the tier, and each entry or object is fetched at most once.
//!
//! An entry is stored before its objects, which are fetched when they are first opened. Until then they are treated as
//! present, unless the tier knows that it does not have them ([`Tier::may_have`]). If an object then cannot be fetched,
//! the result is [`StoreError::Missing`], as for any other lost object.

use std::fmt::Debug;
use std::io::{self, Write};
use std::sync::Arc;

use crate::{Digest, LedgerEntry, Store, StoreError};

/// A shared source of results. An implementation handles its own errors: it limits how long it waits, reports problems
/// itself, and then behaves like an empty tier.
pub trait Tier: Debug + Send + Sync {
    /// Returns the entry of a step key, for a step of `competition`, if the tier has one that can be trusted.
    fn entry(&self, key: &Digest, competition: &str) -> Option<LedgerEntry>;

    /// Announces that an object of `length` bytes may be fetched. The length comes from a trusted entry.
    fn expect(&self, object: &Digest, length: u64);

    /// Returns `false` if the tier is known not to have this object. Sends no request.
    fn may_have(&self, object: &Digest) -> bool;

    /// Writes the bytes of an object to `to`, at most the [expected](Self::expect) length. Returns `false` if the
    /// object cannot be fetched, even if some bytes were written. The store compares the bytes with the digest.
    ///
    /// # Errors
    /// If writing to `to` fails. Errors of the tier itself are not returned.
    fn fetch(&self, object: &Digest, to: &mut dyn Write) -> io::Result<bool>;

    /// Reports that the bytes fetched for an object did not match its digest.
    fn report_damaged(&self, object: &Digest);

    /// Offers a local result to other machines. Returns immediately.
    fn offer(&self, offer: Offer);
}

/// A local result that other machines may use.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The step's key.
    pub key: Digest,
    /// The ledger entry of the key.
    pub entry: LedgerEntry,
    /// Id of the competition.
    pub competition: String,
    /// Name of the step within its competition.
    pub step: String,
    /// Objects that were inputs of the step. The step produced the other objects of the entry.
    pub given: Vec<Digest>,
}

impl Store {
    /// Returns the same store, with `tier` as the source of missing entries and objects.
    #[must_use]
    pub fn with_tier(&self, tier: Arc<dyn Tier>) -> Store {
        let mut store = self.clone();
        store.tier = Some(tier);
        store
    }

    /// Offers a local result to the tier, if there is one.
    pub fn offer(&self, offer: impl FnOnce() -> Offer) {
        if let Some(tier) = &self.tier {
            tier.offer(offer());
        }
    }

    /// Queries the tier for an entry, and stores it.
    pub(crate) fn lookup_in_tier(
        &self,
        key: &Digest,
        competition: &str,
    ) -> Result<Option<LedgerEntry>, StoreError> {
        let Some(tier) = &self.tier else {
            return Ok(None);
        };
        let Some(entry) = tier.entry(key, competition) else {
            return Ok(None);
        };
        self.announce_lengths(&entry);
        if !self.is_read_only() {
            self.record(key, &entry)?;
        }
        Ok(Some(entry))
    }

    /// Announces the lengths of objects that may be fetched.
    pub(crate) fn announce_lengths(&self, entry: &LedgerEntry) {
        let Some(tier) = &self.tier else { return };
        for (object, length) in entry.objects().zip(&entry.lengths) {
            if self.len_of(object).is_none() {
                tier.expect(object, *length);
            }
        }
    }

    /// Returns whether the tier may have an object that is not in this store.
    pub(crate) fn may_be_in_tier(&self, digest: &Digest) -> bool {
        self.tier.as_ref().is_some_and(|tier| tier.may_have(digest))
    }

    /// Fetches an object from the tier. Returns `false` if it cannot be fetched.
    pub(crate) fn fetch_from_tier(&self, digest: &Digest) -> Result<bool, StoreError> {
        let Some(tier) = &self.tier else {
            return Ok(false);
        };
        if self.is_read_only() || !tier.may_have(digest) {
            return Ok(false);
        }
        self.exclusively(digest, || {
            // Another thread may have fetched the object in the meantime.
            if self.len_of(digest).is_some() {
                return Ok(true);
            }
            let mut writer = self.writer()?;
            let path = self.object_path(digest);
            let fetched = tier.fetch(digest, &mut writer);
            if !fetched.map_err(|error| StoreError::io("write", &path, error))? {
                return Ok(false);
            }
            let is_right = writer.commit_as(digest)?;
            if !is_right {
                tier.report_damaged(digest);
            }
            Ok(is_right)
        })
    }
}
