//! A second level of the store, which contains results that many machines share.
//!
//! A store with a tier requests missing entries and objects from the tier, and stores them. Therefore users of a store
//! do not have to know about the tier, and each entry or object is fetched at most once.
//!
//! An entry is stored before its objects, which are fetched when they are first opened. Until then they are treated as
//! present, unless the tier knows that it does not have them ([`Tier::may_have`]). If an object then cannot be fetched,
//! the result is [`StoreError::Missing`](crate::StoreError::Missing), as for any other lost object.

use std::fmt::Debug;
use std::io::{self, Write};

use crate::{Digest, LedgerEntry};

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
