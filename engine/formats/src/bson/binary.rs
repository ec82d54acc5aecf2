//! Binaries that stay where they are: a document in JSON names the place of its pictures in the file.
//!
//! A picture in base64 would be a third longer, and would pass through every query and table that only wants the id beside
//! it. So a longer binary is written as `{"$binary": {"file": "train.bson", "at": 4711, "bytes": 5120, "blake3": "...",
//! "subType": "00"}}`. The hash makes the JSON depend on the bytes, as it would if they stood in it, and is checked when
//! they are read again.

use super::BsonError;
use crate::json::{Object, Value};

/// Up to this length a binary stands in the JSON itself.
const SHORT: usize = 64;

/// Hex digits of the hash: 128 bits.
const DIGITS: usize = 32;

/// A binary in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinaryAt {
    /// The file, as the one who read it calls it.
    pub file: String,
    /// Where the bytes begin in it.
    pub at: u64,
    /// How many there are.
    pub bytes: u64,
    /// The first 128 bits of their BLAKE3 hash, in hex.
    blake3: String,
}

/// Appends the bytes of a binary that is in a file.
pub type ReadBinary<'r> =
    dyn FnMut(&BinaryAt, &mut Vec<u8>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + 'r;

/// Where a document is that is turned into JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<'f> {
    pub file: &'f str,
    /// Where the document begins.
    pub offset: u64,
}

impl Origin<'_> {
    /// The place of a binary that begins at `place` of the document; none for short ones.
    pub fn refer(self, place: usize, bytes: &[u8]) -> Option<BinaryAt> {
        (bytes.len() > SHORT).then(|| BinaryAt {
            file: self.file.to_owned(),
            at: self.offset + place as u64,
            bytes: bytes.len() as u64,
            blake3: hash(bytes),
        })
    }
}

impl BinaryAt {
    pub(super) fn members(&self) -> Object {
        let mut members = Object::new();
        members.insert("file".into(), self.file.as_str().into());
        for (name, number) in [("at", self.at), ("bytes", self.bytes)] {
            // No file is longer than an `i64` can count.
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            members.insert(name.into(), Value::Int(number));
        }
        members.insert("blake3".into(), self.blake3.as_str().into());
        members
    }

    /// What the value of a `$binary` names; none if it does not name a place.
    pub(super) fn of(value: &Value) -> Option<BinaryAt> {
        let number = |name| match value.get(name) {
            Some(Value::Int(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        Some(BinaryAt {
            file: value.get("file")?.as_str()?.to_owned(),
            at: number("at")?,
            bytes: number("bytes")?,
            blake3: value.get("blake3")?.as_str()?.to_owned(),
        })
    }

    /// Reads the bytes, and holds them against the hash.
    pub(super) fn read(&self, read: &mut ReadBinary<'_>) -> Result<Vec<u8>, BsonError> {
        let elsewhere = |source| BsonError::Elsewhere {
            file: self.file.clone(),
            at: self.at,
            source,
        };
        let mut bytes = Vec::new();
        read(self, &mut bytes).map_err(elsewhere)?;
        match bytes.len() as u64 == self.bytes && hash(&bytes) == self.blake3 {
            true => Ok(bytes),
            false => Err(elsewhere("its bytes are not those that were there".into())),
        }
    }
}

fn hash(bytes: &[u8]) -> String {
    let mut hex = blake3::hash(bytes).to_hex().to_string();
    hex.truncate(DIGITS);
    hex
}
