//! References from JSON to binary values that remain in a BSON file.
//!
//! As base64, an image would be a third longer, and every query would read it, even if it only needs the id next to it.
//! So a long binary becomes a reference with file, offset and length: `{"$binary": {"file": "train.bson", "at": 4711,
//! "bytes": 5120, "blake3": "...", "subType": "00"}}`. Because of the hash, different bytes yield different JSON. The
//! hash is verified when the bytes are read.

use super::BsonError;
use crate::json::{JsonObject, JsonValue};

/// Binaries up to this length in bytes are stored in the JSON itself.
const MAX_INLINE_BYTES: usize = 64;

/// Number of hex digits of the hash: 128 bits.
const HASH_DIGITS: usize = 32;

/// A binary value in a BSON file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinaryReference {
    /// Name of the file, as given to [`BsonDocument::to_json_with_references`](super::BsonDocument::to_json_with_references).
    pub file: String,
    /// Offset of the bytes in the file.
    pub at: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// The first 128 bits of the bytes' BLAKE3 hash, in hex.
    blake3: String,
}

/// Reads the bytes of a binary from its file and appends them to the vector.
pub type BinaryReader<'r> = dyn FnMut(&BinaryReference, &mut Vec<u8>) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
    + 'r;

/// The file and offset of a document that is converted to JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct DocumentOrigin<'f> {
    pub file: &'f str,
    /// Offset of the document in the file.
    pub offset: u64,
}

impl DocumentOrigin<'_> {
    /// Returns a reference to the binary at offset `position` of the document; `None` for short binaries.
    pub fn refer(self, position: usize, bytes: &[u8]) -> Option<BinaryReference> {
        (bytes.len() > MAX_INLINE_BYTES).then(|| BinaryReference {
            file: self.file.to_owned(),
            at: self.offset + position as u64,
            bytes: bytes.len() as u64,
            blake3: hash(bytes),
        })
    }
}

impl BinaryReference {
    /// The members of the JSON object under `$binary`.
    pub(super) fn members(&self) -> JsonObject {
        let mut members = JsonObject::new();
        members.insert("file".into(), self.file.as_str().into());
        for (name, number) in [("at", self.at), ("bytes", self.bytes)] {
            // File offsets fit into `i64`.
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            members.insert(name.into(), JsonValue::Int(number));
        }
        members.insert("blake3".into(), self.blake3.as_str().into());
        members
    }

    /// Parses the value of a `$binary`. `None` if it is not a reference.
    pub(super) fn parse(value: &JsonValue) -> Option<BinaryReference> {
        let number = |name| match value.get(name) {
            Some(JsonValue::Int(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        Some(BinaryReference {
            file: value.get("file")?.as_str()?.to_owned(),
            at: number("at")?,
            bytes: number("bytes")?,
            blake3: value.get("blake3")?.as_str()?.to_owned(),
        })
    }

    /// Reads the bytes and verifies their hash.
    pub(super) fn read(&self, read: &mut BinaryReader<'_>) -> Result<Vec<u8>, BsonError> {
        let unreadable = |source| BsonError::ReferencedBinary {
            file: self.file.clone(),
            at: self.at,
            source,
        };
        let mut bytes = Vec::new();
        read(self, &mut bytes).map_err(unreadable)?;
        match bytes.len() as u64 == self.bytes && hash(&bytes) == self.blake3 {
            true => Ok(bytes),
            false => Err(unreadable("its bytes have changed".into())),
        }
    }
}

fn hash(bytes: &[u8]) -> String {
    let mut hex = blake3::hash(bytes).to_hex().to_string();
    hex.truncate(HASH_DIGITS);
    hex
}
