//! Signed records, and the keys whose signatures are trusted.
//!
//! A record's file consists of one line (format, key, signature) and of the signed JSON. The signature covers the name of
//! the file, so a copy under a different name is not valid.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use prep_cache::unix_seconds;
use prep_core::Remedy;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::key::{PublicKey, SigningKey};
use crate::trust;

/// A key whose signatures are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedSigner {
    /// The key.
    pub key: PublicKey,
    /// Competitions for which the key is trusted. `None` for all competitions.
    pub competitions: Option<BTreeSet<String>>,
    /// Time until which the key is trusted, in seconds since 1970. `None` if there is no limit.
    ///
    /// The limit is compared with the current time. A time in a record would not be safe, because a thief of the key could
    /// write an earlier time into the record.
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

/// Checks whether `key` is trusted for `competition` now. If `trusted` contains the key several times, one entry that
/// permits `competition` is enough.
pub fn check(
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
    #[error("it is not signed")]
    Unsigned,
    #[error("it is signed by {0}, which is not trusted")]
    UntrustedKey(PublicKey),
    #[error("its signature is not valid: the record was modified, or copied to a different name")]
    Forged,
    #[error("it is signed by {key}, which is not trusted for `{competition}`")]
    OutOfScope { key: PublicKey, competition: String },
    #[error("it is signed by {0}, which is no longer trusted: the time `until` has passed")]
    Expired(PublicKey),
    #[error("it is signed, but does not have the expected structure")]
    Malformed,
    #[error("it is signed, but belongs to a different step than its name states")]
    OtherStep,
    #[error("it was written for the remote {0} and copied to this one")]
    OtherRemote(String),
    #[error(
        "it has serial number {found}, but a record with the higher number {highest} was read before: an old record was restored"
    )]
    Outdated { found: u64, highest: u64 },
}

impl Rejection {
    /// Returns whether the signer's key is not trusted. The record may be valid for users who trust the key.
    pub fn is_about_signer(&self) -> bool {
        matches!(
            self,
            Rejection::UntrustedKey(_) | Rejection::OutOfScope { .. } | Rejection::Expired(_)
        )
    }

    /// Returns an action that may solve the problem, if there is one.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Rejection::UntrustedKey(key) => Some(Remedy::TrustKey {
                key: Some(key.to_string()),
            }),
            Rejection::OutOfScope { .. } | Rejection::Expired(_) => {
                Some(Remedy::TrustKey { key: None })
            }
            Rejection::OtherRemote(_) => Some(Remedy::NameSameRemote),
            Rejection::Outdated { .. } => Some(Remedy::SendAgain),
            _ => None,
        }
    }
}

const MAGIC: &str = "prep-signed-v1";

fn message(name: &str, json: &[u8]) -> Vec<u8> {
    let mut message = format!("{MAGIC}\0{name}\0").into_bytes();
    message.extend_from_slice(json);
    message
}

pub(crate) fn seal<T: Serialize>(
    key: &SigningKey,
    name: &str,
    record: &T,
) -> Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_vec(record)?;
    let signature = BASE64.encode(key.sign(&message(name, &json)));
    let mut bytes = format!("{MAGIC} {} {signature}\n", key.public()).into_bytes();
    bytes.extend(json);
    Ok(bytes)
}

const SIGNATURE_LINE: &str = "# signed ";

/// Appends a line with a signature to a text. The signature covers `purpose`, so it is not valid for a different purpose.
pub fn sign_text(key: &SigningKey, purpose: &str, text: &str) -> String {
    let signature = BASE64.encode(key.sign(&message(purpose, text.as_bytes())));
    format!("{text}{SIGNATURE_LINE}{} {signature}\n", key.public())
}

/// Returns the key that signed a text with [`sign_text`] for the same `purpose`. Fails if the signature is missing or not
/// valid.
pub fn signer(purpose: &str, text: &str) -> Result<PublicKey, Rejection> {
    let line = text.lines().last().unwrap_or_default();
    let words = line
        .strip_prefix(SIGNATURE_LINE)
        .and_then(|words| words.split_once(' '));
    let (key, signature) = words.ok_or(Rejection::Unsigned)?;
    let key: PublicKey = key.parse().map_err(|_| Rejection::Forged)?;
    let signature = BASE64.decode(signature).map_err(|_| Rejection::Forged)?;
    let body = text
        .strip_suffix('\n')
        .and_then(|text| text.strip_suffix(line));
    let body = body.ok_or(Rejection::Forged)?;
    match key.has_signed(&message(purpose, body.as_bytes()), &signature) {
        true => Ok(key),
        false => Err(Rejection::Forged),
    }
}

/// Parses the record in the file `name`. Verifies its signature, and that the signer is trusted for `competition`.
pub(crate) fn open<T: DeserializeOwned>(
    trusted: &[TrustedSigner],
    competition: &str,
    name: &str,
    bytes: &[u8],
) -> Result<T, Rejection> {
    let (line, json) = split(bytes).ok_or(Rejection::Unsigned)?;
    let mut words = line.split(' ');
    let (Some(MAGIC), Some(key), Some(signature), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Rejection::Unsigned);
    };
    let key: PublicKey = key.parse().map_err(|_| Rejection::Unsigned)?;
    trust::check(trusted, key, competition)?;
    let signature = BASE64.decode(signature).map_err(|_| Rejection::Forged)?;
    if !key.has_signed(&message(name, json), &signature) {
        return Err(Rejection::Forged);
    }
    serde_json::from_slice(json).map_err(|_| Rejection::Malformed)
}

fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = bytes.split_at_checked(end)?;
    Some((std::str::from_utf8(line).ok()?, rest.get(1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::SigningKey;

    #[test]
    fn a_key_is_trusted_for_its_competitions_until_its_time_limit() {
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

#[cfg(test)]
mod signed_tests {
    use super::*;

    #[test]
    fn only_records_signed_for_this_name_by_a_trusted_key_are_accepted() {
        let (ours, theirs) = (
            SigningKey::generate("a").unwrap(),
            SigningKey::generate("b").unwrap(),
        );
        let trusted = [TrustedSigner::from(ours.public())];
        let sealed = seal(&ours, "v1/ledger/x", &vec![1, 2]).unwrap();
        let read = |name: &str, bytes: &[u8]| open::<Vec<u8>>(&trusted, "c", name, bytes);
        assert_eq!(read("v1/ledger/x", &sealed), Ok(vec![1, 2]));
        assert_eq!(read("v1/ledger/y", &sealed), Err(Rejection::Forged));
        let foreign = seal(&theirs, "v1/ledger/x", &vec![1, 2]).unwrap();
        let answer = read("v1/ledger/x", &foreign);
        assert_eq!(answer, Err(Rejection::UntrustedKey(theirs.public())));
        assert_eq!(read("v1/ledger/x", b"[1,2]"), Err(Rejection::Unsigned));
        assert_eq!(read("v1/ledger/x", b""), Err(Rejection::Unsigned));
        let shape = seal(&ours, "v1/ledger/x", &"text").unwrap();
        assert_eq!(read("v1/ledger/x", &shape), Err(Rejection::Malformed));
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(read("v1/ledger/x", &changed).is_err(), "{at}");
        }
    }
}
