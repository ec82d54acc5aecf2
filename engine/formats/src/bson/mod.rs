//! Reads and writes BSON files, as `mongodump` writes them and pymongo reads them.
//!
//! A file is a sequence of documents. [`BsonDocument::to_json`] converts a document to JSON, and [`push_json`] converts JSON
//! to a document.
//!
//! Long binary values can remain in the file, because this module returns their offsets. The crate `bson` does not return
//! offsets.
//!
//! Source: bsonspec.org, version 1.1.

mod json;
mod value;
mod write;

use std::io;
use std::io::Read;

use value::{BsonValue, RawDocument};

use crate::json::{JsonObject, JsonValue};

pub use json::push_json;

/// The type bytes of elements.
mod kind {
    pub const DOUBLE: u8 = 0x01;
    pub const STRING: u8 = 0x02;
    pub const DOCUMENT: u8 = 0x03;
    pub const ARRAY: u8 = 0x04;
    pub const BINARY: u8 = 0x05;
    pub const UNDEFINED: u8 = 0x06;
    pub const OBJECT_ID: u8 = 0x07;
    pub const BOOL: u8 = 0x08;
    pub const DATE: u8 = 0x09;
    pub const NULL: u8 = 0x0a;
    pub const REGEX: u8 = 0x0b;
    pub const POINTER: u8 = 0x0c;
    pub const CODE: u8 = 0x0d;
    pub const SYMBOL: u8 = 0x0e;
    pub const CODE_WITH_SCOPE: u8 = 0x0f;
    pub const INT32: u8 = 0x10;
    pub const TIMESTAMP: u8 = 0x11;
    pub const INT64: u8 = 0x12;
    pub const DECIMAL128: u8 = 0x13;
    pub const MAX_KEY: u8 = 0x7f;
    pub const MIN_KEY: u8 = 0xff;
}

/// A document with more bytes is an error. MongoDB's limit is 16 MiB, but other programs may write longer documents.
pub const MAX_DOCUMENT_BYTES: u32 = 1 << 28;

/// Before a document is read, at most this number of bytes is reserved for it, because its declared length may be
/// wrong.
const MAX_RESERVED_BYTES: u32 = 1 << 20;

/// Iterates over the documents of a file, with one document in memory. Ends after an error.
#[derive(Debug)]
pub struct BsonDocuments<R> {
    input: R,
    offset: u64,
    done: bool,
}

/// The bytes of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BsonDocument {
    offset: u64,
    bytes: Vec<u8>,
}

impl<R: Read> BsonDocuments<R> {
    /// Reads from `input`, which should be buffered.
    pub fn new(input: R) -> Self {
        Self {
            input,
            offset: 0,
            done: false,
        }
    }

    /// Reads the next document. Returns `None` at the end of the file.
    fn document(&mut self) -> Result<Option<BsonDocument>, BsonError> {
        let offset = self.offset;
        let mut bytes = Vec::new();
        self.take(4, &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let Ok(length) = <[u8; 4]>::try_from(bytes.as_slice()).map(i32::from_le_bytes) else {
            return Err(BsonError::Truncated { offset });
        };
        // The shortest document consists of a length of four bytes and a zero byte.
        let rest = u32::try_from(length)
            .ok()
            .filter(|length| (5..=MAX_DOCUMENT_BYTES).contains(length));
        let rest = rest.ok_or(BsonError::WrongLength {
            offset,
            length,
            limit: MAX_DOCUMENT_BYTES,
        })? - 4;
        bytes.reserve_exact(rest.min(MAX_RESERVED_BYTES) as usize);
        if self.take(rest.into(), &mut bytes)? < u64::from(rest) {
            return Err(BsonError::Truncated { offset });
        }
        Ok(Some(BsonDocument { offset, bytes }))
    }

    /// Appends up to `count` bytes, or fewer at the end of the input. Returns the number of appended bytes.
    fn take(&mut self, count: u64, bytes: &mut Vec<u8>) -> Result<u64, BsonError> {
        let offset = self.offset;
        let read = Read::by_ref(&mut self.input)
            .take(count)
            .read_to_end(bytes)
            .map_err(|source| BsonError::Io { offset, source })? as u64;
        self.offset += read;
        Ok(read)
    }
}

impl<R: Read> Iterator for BsonDocuments<R> {
    type Item = Result<BsonDocument, BsonError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let result = self.document();
        self.done = !matches!(result, Ok(Some(_)));
        result.transpose()
    }
}

impl BsonDocument {
    /// Creates a document from its bytes.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self { offset: 0, bytes }
    }

    /// Offset of the document in its file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the bytes of the document.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn raw(&self) -> RawDocument<'_> {
        RawDocument::new(&self.bytes)
    }
}

/// BSON that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BsonError {
    /// The file ends within a document.
    #[error("the BSON file ends within the document at byte {offset}; fetch it again")]
    Truncated {
        /// Offset of the document in the file.
        offset: u64,
    },
    /// The declared length is impossible or too large.
    #[error(
        "the document at byte {offset} declares a length of {length} bytes, which is impossible or over the limit of {limit}; the file is damaged, or not BSON"
    )]
    WrongLength {
        /// Offset of the document in the file.
        offset: u64,
        /// The declared length in bytes.
        length: i32,
        /// The maximum length in bytes.
        limit: u32,
    },
    /// The document does not follow the format.
    #[error("the BSON document is damaged at its byte {position}: {reason}")]
    Damaged {
        /// Offset in the document.
        position: usize,
        /// The violated rule of the format.
        reason: &'static str,
    },
    /// An element has a type that the format does not define.
    #[error(
        "the BSON document has an element of the unknown type {kind:#04x} at its byte {position}"
    )]
    UnknownType {
        /// Offset in the document.
        position: usize,
        /// The type byte.
        kind: u8,
    },
    /// Documents are nested too deeply.
    #[error("the BSON document is nested deeper than {limit} levels")]
    TooDeep {
        /// Maximum number of levels.
        limit: usize,
    },
    /// A value cannot be written.
    #[error("`{key}` of the BSON document {reason}")]
    CannotWrite {
        /// Key of the value.
        key: String,
        /// The reason.
        reason: &'static str,
    },
    /// The bytes behind a [`BinaryReference`] cannot be read.
    #[error("the binary value at byte {at} of `{file}` cannot be read")]
    ReferencedBinary {
        /// Name of the file that contains the binary.
        file: String,
        /// Offset in the file.
        at: u64,
        /// The error of the [`BinaryReader`].
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A JSON value does not represent a document or element.
    #[error("`{key}` is not valid Extended JSON: {reason}")]
    NotExtendedJson {
        /// Key of the value; empty for the document itself.
        key: String,
        /// The reason.
        reason: &'static str,
    },
    /// An I/O error.
    #[error("reading BSON failed at byte {offset}")]
    Io {
        /// Offset in the file.
        offset: u64,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
}

/// A binary with more bytes becomes a [`BinaryReference`], if the caller requests references. Other binaries are stored
/// in the JSON itself.
const MAX_INLINE_BYTES: usize = 64;

/// Number of hexadecimal digits of a hash in a [`BinaryReference`].
const HASH_DIGITS: usize = 32;

/// A reference to a binary value in a BSON file: the offset, length and hash of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinaryReference {
    /// Name of the file, as given to [`BsonDocument::to_json_with_references`](BsonDocument::to_json_with_references).
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

/// The name of the file that contains a document, and the document's offset in this file.
#[derive(Debug, Clone, Copy)]
struct DocumentOrigin<'f> {
    pub file: &'f str,
    pub offset: u64,
}

impl DocumentOrigin<'_> {
    /// Returns a reference to the binary at offset `position` of the document, or `None` if the binary is short.
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
    /// Returns the reference as a JSON object.
    fn members(&self) -> JsonObject {
        let mut members = JsonObject::new();
        members.insert("file".into(), self.file.as_str().into());
        for (name, number) in [("at", self.at), ("bytes", self.bytes)] {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            members.insert(name.into(), JsonValue::Int(number));
        }
        members.insert("blake3".into(), self.blake3.as_str().into());
        members
    }

    /// Parses the value of `$binary`. Returns `None` if it is not a reference.
    fn parse(value: &JsonValue) -> Option<BinaryReference> {
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

    /// Reads the referenced bytes, and verifies their length and hash.
    fn read(&self, read: &mut BinaryReader<'_>) -> Result<Vec<u8>, BsonError> {
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

/// Returns the first [`HASH_DIGITS`] digits of the BLAKE3 hash.
fn hash(bytes: &[u8]) -> String {
    let mut hex = blake3::hash(bytes).to_hex().to_string();
    hex.truncate(HASH_DIGITS);
    hex
}
