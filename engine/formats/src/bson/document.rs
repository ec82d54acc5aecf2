//! Reads the documents of a BSON file one by one.

use std::io::Read;

use super::{BsonError, RawDocument};

/// Maximum length of a document in bytes. MongoDB's own limit is 16 MiB, but files of other programs may exceed it.
pub const MAX_DOCUMENT_BYTES: u32 = 1 << 28;

/// Memory that is reserved before the document is read, in bytes, because the declared length may be wrong.
const MAX_RESERVED_BYTES: u32 = 1 << 20;

/// Iterates over the documents of a file. At most one document is in memory at a time. The iterator ends after an
/// error.
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
        // The shortest document is four bytes of length and a zero.
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

    /// The bytes of the document.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn raw(&self) -> RawDocument<'_> {
        RawDocument::new(&self.bytes)
    }
}
