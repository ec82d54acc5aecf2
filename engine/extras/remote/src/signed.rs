//! Signed records.
//!
//! A file consists of one line (format, key, signature) and the JSON that was signed. The signature covers the name of
//! the file, so a record that is copied to a different name is not valid there.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::key::{PublicKey, SigningKey};
use crate::trust::{self, Rejection, TrustedSigner};

const MAGIC: &str = "prep-signed-v1";

fn message(name: &str, json: &[u8]) -> Vec<u8> {
    let mut message = format!("{MAGIC}\0{name}\0").into_bytes();
    message.extend_from_slice(json);
    message
}

/// Returns the bytes of a signed record for the file `name`.
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

/// Parses the record of the file `name`. Returns an error if it is not signed by a key that is trusted for
/// `competition`.
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
