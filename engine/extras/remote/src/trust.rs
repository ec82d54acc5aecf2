//! The keys whose signatures are trusted, for which competitions, and until when.
//!
//! The reasons why a record is not trusted.

use std::collections::BTreeSet;

use prep_cache::unix_seconds;

use crate::key::PublicKey;

/// A key whose signatures are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedSigner {
    /// The key.
    pub key: PublicKey,
    /// The competitions for which the key is trusted. `None` for all competitions.
    pub competitions: Option<BTreeSet<String>>,
    /// Time until which the key is trusted, in seconds since 1970. `None` if there is no limit. It is compared with the
    /// reader's clock, because a leaked key could sign any date.
    pub until: Option<u64>,
}

impl From<PublicKey> for TrustedSigner {
    /// Trusts the key for all competitions, without a time limit.
    fn from(key: PublicKey) -> TrustedSigner {
        TrustedSigner {
            key,
            competitions: None,
            until: None,
        }
    }
}

/// Returns an error unless a signature by `key` on a record of `competition` is trusted now. If a key is listed several
/// times, it is sufficient that one of the entries allows it.
pub(crate) fn check(
    trusted: &[TrustedSigner],
    key: PublicKey,
    competition: &str,
) -> Result<(), Rejection> {
    check_at(trusted, key, competition, unix_seconds())
}

fn check_at(
    trusted: &[TrustedSigner],
    key: PublicKey,
    competition: &str,
    now: u64,
) -> Result<(), Rejection> {
    let mut rejected = Rejection::UntrustedKey(key);
    for one in trusted.iter().filter(|one| one.key == key) {
        if one.until.is_some_and(|until| until <= now) {
            rejected = Rejection::Expired(key);
        } else if let Some(listed) = &one.competitions
            && !listed.contains(competition)
        {
            rejected = Rejection::OutOfScope {
                key,
                competition: competition.to_owned(),
            };
        } else {
            return Ok(());
        }
    }
    Err(rejected)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::SigningKey;

    #[test]
    fn a_key_is_trusted_for_its_competitions_until_its_end() {
        let key = |name| SigningKey::generate(name).unwrap().public();
        let (all, some, old, stranger) = (key("a"), key("b"), key("c"), key("d"));
        let limited = |key, ids: &[&str], until| TrustedSigner {
            key,
            competitions: Some(ids.iter().map(|id| (*id).to_owned()).collect()),
            until,
        };
        let trusted = [
            TrustedSigner::from(all),
            limited(some, &["x", "y"], None),
            TrustedSigner {
                until: Some(100),
                ..TrustedSigner::from(old)
            },
            limited(old, &["z"], None),
        ];
        let check = |key, competition, now| check_at(&trusted, key, competition, now);
        let out_of_scope = |key, competition: &str| {
            Err(Rejection::OutOfScope {
                key,
                competition: competition.to_owned(),
            })
        };
        assert_eq!(check(all, "anything", 1_000), Ok(()));
        assert_eq!(check(some, "x", 1_000), Ok(()));
        assert_eq!(check(some, "z", 1_000), out_of_scope(some, "z"));
        assert_eq!(check(old, "x", 99), Ok(()));
        assert_eq!(check(old, "z", 1_000), Ok(()));
        assert_eq!(check(old, "x", 100), out_of_scope(old, "x"));
        assert_eq!(
            check(stranger, "x", 0),
            Err(Rejection::UntrustedKey(stranger))
        );
        let only_old = &trusted[2..3];
        assert_eq!(
            check_at(only_old, old, "x", 100),
            Err(Rejection::Expired(old))
        );
    }
}
