//! The reasons why a record is not trusted.

use crate::key::PublicKey;

/// The reason why a record is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum Rejection {
    /// The record has no signature.
    #[error("it is not signed")]
    Unsigned,
    /// The signer is not trusted.
    #[error("it is signed by {0}, which is not trusted")]
    UntrustedKey(PublicKey),
    /// The signature does not match these bytes and this name.
    #[error("its signature is not valid: the record was modified, or copied from a different name")]
    Forged,
    /// The signer is not trusted for this competition.
    #[error("it is signed by {key}, which is not trusted for `{competition}`")]
    OutOfScope { key: PublicKey, competition: String },
    /// The time until which the signer was trusted has passed.
    #[error("it is signed by {0}, which is not trusted any more (`until` has passed)")]
    Expired(PublicKey),
    /// The JSON does not have the expected structure.
    #[error("it is signed, but does not have the expected structure")]
    Malformed,
    /// The record belongs to a different step.
    #[error("it is signed, but describes a different step than the one it is stored for")]
    OtherStep,
    /// The record belongs to a different remote.
    #[error("it was written for the remote {0} and copied to this one")]
    OtherRemote(String),
    /// A newer record was read before.
    #[error(
        "it has serial number {found}, but a record with {highest} was seen before: an old record was restored"
    )]
    Outdated { found: u64, highest: u64 },
}
