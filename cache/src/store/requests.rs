//! Requests missing entries and objects from the tier of a store, and stores them.

use std::sync::Arc;

use crate::{Digest, LedgerEntry, Offer, Store, StoreError, Tier};

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
