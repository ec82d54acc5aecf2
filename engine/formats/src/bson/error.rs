//! Errors when reading and writing BSON. `position` is an offset in the document.

use std::io;

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
        /// The violated rule.
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
    /// The bytes of a referenced binary cannot be read. See [`BinaryReference`](super::BinaryReference).
    #[error("the binary at byte {at} of `{file}` cannot be read")]
    ReferencedBinary {
        /// Name of the file that contains the binary.
        file: String,
        /// Offset in the file.
        at: u64,
        /// The reason.
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
