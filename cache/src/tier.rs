//! A further place that may hold results: a store that many machines share.
//!
//! A store with a tier looks there when it does not have an entry or an object itself, and keeps what it finds. So who
//! uses a store need not know of the tier, and everything that was found once is here from then on.
//!
//! An entry that was found there is kept before its objects are: they come when something opens them. Until then they
//! count as there, unless the tier has said that it does not have them ([`Tier::may_have`]); if one cannot be had after
//! all, it is [`StoreError::Missing`], as any object is that was lost.

use std::fmt::Debug;
use std::io::{self, Write};
use std::sync::Arc;

use crate::{Digest, LedgerEntry, Store, StoreError};

/// Looks after its own troubles: it waits no longer than it likes, says what is wrong to whom it wants, and has nothing then.
pub trait Tier: Debug + Send + Sync {
    /// What a step key led to, for a step of `competition`. Only an entry that may be trusted there.
    fn entry(&self, key: &Digest, competition: &str) -> Option<LedgerEntry>;

    /// An object of this length may be fetched. The length comes from a trusted entry.
    fn expect(&self, object: &Digest, length: u64);

    /// False when it is known not to have this object. Asks nobody.
    fn may_have(&self, object: &Digest) -> bool;

    /// Writes the bytes of an object; false if they are not to be had, whatever was written until then. Writes no more than
    /// the length that was [expected](Self::expect). The store holds the bytes against the name.
    ///
    /// # Errors
    /// Those of `to` alone.
    fn fetch(&self, object: &Digest, to: &mut dyn Write) -> io::Result<bool>;

    /// The bytes that it gave for an object are not the object's.
    fn was_wrong(&self, object: &Digest);

    /// A result that was made here, for others. Returns at once.
    fn offer(&self, offer: Offer);
}

/// A result for others.
#[derive(Debug, Clone)]
pub struct Offer {
    pub key: Digest,
    pub entry: LedgerEntry,
    pub competition: String,
    /// Name of the step within its competition.
    pub step: String,
    /// Objects that the step was given; the others of the entry it has made.
    pub given: Vec<Digest>,
}

impl Store {
    /// The same store, which looks into `tier` for what it does not have.
    #[must_use]
    pub fn with_tier(&self, tier: Arc<dyn Tier>) -> Store {
        let mut store = self.clone();
        store.tier = Some(tier);
        store
    }

    /// Hands a result that was made here to the tier, if there is one.
    pub fn offer(&self, offer: impl FnOnce() -> Offer) {
        if let Some(tier) = &self.tier {
            tier.offer(offer());
        }
    }

    /// Looks for an entry in the tier, and keeps it.
    pub(crate) fn lookup_further(
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
        self.expect(&entry);
        if !self.is_read_only() {
            self.record(key, &entry)?;
        }
        Ok(Some(entry))
    }

    /// Tells the tier how long the objects are that it may be asked for.
    pub(crate) fn expect(&self, entry: &LedgerEntry) {
        let Some(tier) = &self.tier else { return };
        for (object, length) in entry.objects().zip(&entry.lengths) {
            if self.len_of(object).is_none() {
                tier.expect(object, *length);
            }
        }
    }

    /// Whether an object that is not here may still be had.
    pub(crate) fn is_further(&self, digest: &Digest) -> bool {
        self.tier.as_ref().is_some_and(|tier| tier.may_have(digest))
    }

    /// Brings an object from the tier. False: it is not to be had.
    pub(crate) fn bring(&self, digest: &Digest) -> Result<bool, StoreError> {
        let Some(tier) = &self.tier else {
            return Ok(false);
        };
        if self.is_read_only() || !tier.may_have(digest) {
            return Ok(false);
        }
        self.one_at_a_time(digest, || {
            // Another thread may have brought it.
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
                tier.was_wrong(digest);
            }
            Ok(is_right)
        })
    }
}
