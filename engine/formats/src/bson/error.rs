//! Errors. `place` is an offset in the document, from its first byte.

use std::io;

/// Why a file or document is refused.
#[derive(Debug, thiserror::Error)]
pub enum BsonError {
    /// The file ends within a document.
    #[error("the BSON file ends within the document at byte {offset}; fetch it again")]
    Truncated {
        /// Where the document begins.
        offset: u64,
    },
    /// A length that no document has.
    #[error(
        "the document at byte {offset} says that it is {length} bytes long, which is not possible or over the limit of {limit}; the file is damaged, or not BSON"
    )]
    WrongLength {
        /// Where the document begins.
        offset: u64,
        /// What its first four bytes say.
        length: i32,
        /// Longest document accepted.
        limit: u32,
    },
    /// The bytes of a document are not what the format says.
    #[error("the BSON document is damaged at its byte {place}: {reason}")]
    Damaged {
        /// Where.
        place: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// An element of a type that the format does not have.
    #[error("the BSON document has an element of the unknown type {kind:#04x} at its byte {place}")]
    UnknownType {
        /// Where.
        place: usize,
        /// The type byte.
        kind: u8,
    },
    /// Documents inside documents, too deep.
    #[error("the BSON document is nested deeper than {limit} levels")]
    TooDeep {
        /// Levels accepted.
        limit: usize,
    },
    /// Something that cannot be written again.
    #[error("`{key}` of the BSON document {reason}")]
    CannotWrite {
        /// The key.
        key: String,
        /// Why.
        reason: &'static str,
    },
    /// The bytes of a binary that stands in another file.
    #[error("the binary at byte {at} of `{file}` cannot be read")]
    Elsewhere {
        /// The file.
        file: String,
        /// Where in it.
        at: u64,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A JSON value that is no document or element.
    #[error("`{key}` is not BSON in its JSON form: {reason}")]
    NotExtendedJson {
        /// The key; empty for the document itself.
        key: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// Reading failed.
    #[error("reading BSON failed at byte {offset}")]
    Io {
        /// Where.
        offset: u64,
        /// Cause.
        #[source]
        source: io::Error,
    },
}
