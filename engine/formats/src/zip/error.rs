//! Why an archive or a member is refused.

use std::io;

use crate::limits::LimitExceeded;
use crate::paths::PathError;
use crate::sniff::{HumanSize, Looks};

/// A refusal. Offsets are positions in the base file.
#[derive(Debug, thiserror::Error)]
pub enum ZipError {
    /// The bytes are something else.
    #[error("got {found}, {}, expected a zip archive; fetch the file again, and log in if it is a web page", HumanSize(*.size))]
    NotAZip {
        /// What it looks like.
        found: Looks,
        /// Size in bytes.
        size: u64,
    },
    /// It begins like a zip archive, but its end is missing.
    #[error("the zip archive is cut off after {}: it has no end of central directory; fetch it again", HumanSize(*.size))]
    Truncated {
        /// Size in bytes of what is there.
        size: u64,
    },
    /// The central directory cannot be read.
    #[error(
        "the central directory of the zip archive is damaged at byte {offset}: {reason}; fetch the archive again"
    )]
    DamagedDirectory {
        /// Where.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// The member needs a password.
    #[error(
        "member {member:?} at byte {offset} is encrypted; only archives without a password can be read"
    )]
    Encrypted {
        /// Member name.
        member: String,
        /// Where its record begins.
        offset: u64,
    },
    /// The member's compression is neither "stored" nor "deflate".
    #[error(
        "member {member:?} at byte {offset} uses compression method {method}; only 0 (stored) and 8 (deflate) can be read"
    )]
    UnsupportedMethod {
        /// Member name.
        member: String,
        /// Where its record begins.
        offset: u64,
        /// Method number of the zip specification (4.4.5).
        method: u16,
    },
    /// The member's name could lead out of the target folder.
    #[error("member {member:?} at byte {offset} has an unsafe path: {cause}")]
    UnsafePath {
        /// Member name, as in the archive.
        member: String,
        /// Where its record begins.
        offset: u64,
        /// The rule that it breaks.
        #[source]
        cause: PathError,
    },
    /// The member is a symbolic link.
    #[error(
        "member {member:?} at byte {offset} is a symbolic link; only files and folders are extracted"
    )]
    Symlink {
        /// Member name.
        member: String,
        /// Where its record begins.
        offset: u64,
    },
    /// The member is a device, pipe or socket.
    #[error(
        "member {member:?} at byte {offset} is a special file (mode {mode:o}); only files and folders are extracted"
    )]
    SpecialFile {
        /// Member name.
        member: String,
        /// Where its record begins.
        offset: u64,
        /// Unix mode.
        mode: u32,
    },
    /// Two members have the same path and different contents.
    #[error(
        "member {member:?} occurs twice with different contents (at bytes {first} and {offset}); which one is meant is not determined"
    )]
    DifferingDuplicate {
        /// Member name.
        member: String,
        /// Where the first record begins.
        first: u64,
        /// Where the second record begins.
        offset: u64,
    },
    /// One member is a file, and another one lies in a folder of that name.
    #[error("member {member:?} at byte {offset} lies inside {file:?}, which is a file")]
    FileAsFolder {
        /// Member name.
        member: String,
        /// Where its record begins.
        offset: u64,
        /// The member that is a file.
        file: String,
    },
    /// The local header says something else than the central directory.
    #[error(
        "member {member:?} at byte {offset}: its local header disagrees with the central directory on {field} ({local} there, {central} in the directory)"
    )]
    HeaderMismatch {
        /// Member name.
        member: String,
        /// Where its record begins.
        offset: u64,
        /// Which field.
        field: &'static str,
        /// Value in the local header.
        local: String,
        /// Value in the central directory.
        central: String,
    },
    /// Two records share bytes of the archive, or one runs into the directory.
    #[error(
        "member {member:?} at byte {offset} overlaps what begins at byte {next}; archives like that are made to expand without bounds"
    )]
    Overlap {
        /// Member name.
        member: String,
        /// Where its record begins.
        offset: u64,
        /// Where the next record or the central directory begins.
        next: u64,
    },
    /// The member declares more bytes than its compressed bytes can hold.
    #[error(
        "member {member:?} at byte {offset} declares {size} bytes from {compressed_size} compressed ones, over the limit of {limit}:1"
    )]
    Ratio {
        /// Member name.
        member: String,
        /// Where its record begins.
        offset: u64,
        /// Declared size.
        size: u64,
        /// Compressed size.
        compressed_size: u64,
        /// The highest ratio of the method.
        limit: u64,
    },
    /// The members are more than allowed, or declare more bytes.
    #[error("from member {member:?} at byte {offset} on {cause}")]
    Limit {
        /// The member at which the sum passed the limit.
        member: String,
        /// Where its record begins.
        offset: u64,
        /// The limit.
        #[source]
        cause: LimitExceeded,
    },
    /// The content does not have the declared CRC.
    #[error(
        "member {member:?} at byte {offset} is damaged: CRC-32 {actual:08x}, the directory says {expected:08x}; fetch the archive again"
    )]
    WrongCrc {
        /// Member name.
        member: String,
        /// Where its record begins.
        offset: u64,
        /// CRC that the directory declares.
        expected: u32,
        /// CRC of the content.
        actual: u32,
    },
    /// The content goes on after the declared size.
    #[error(
        "member {member:?} at byte {offset} is longer than the {size} bytes that the directory declares"
    )]
    TooLong {
        /// Member name.
        member: String,
        /// Where its record begins.
        offset: u64,
        /// Declared size.
        size: u64,
    },
    /// The content ends before the declared size.
    #[error(
        "member {member:?} at byte {offset} ends after {actual} of {size} declared bytes; fetch the archive again"
    )]
    TooShort {
        /// Member name.
        member: String,
        /// Where its record begins.
        offset: u64,
        /// Declared size.
        size: u64,
        /// Bytes that are there.
        actual: u64,
    },
    /// The deflate stream is not valid, or does not fill its compressed size.
    #[error("member {member:?} at byte {offset} is damaged: {reason}; fetch the archive again")]
    Corrupt {
        /// Member name.
        member: String,
        /// Where its record begins.
        offset: u64,
        /// What the decoder says.
        reason: String,
    },
    /// Reading the base file failed.
    #[error("reading the zip archive at byte {offset} failed")]
    Io {
        /// Where.
        offset: u64,
        /// Cause.
        #[source]
        source: io::Error,
    },
}

impl From<ZipError> for io::Error {
    /// For [`io::Read`]: the typed error can be had back with
    /// [`io::Error::downcast`].
    fn from(error: ZipError) -> Self {
        let kind = match &error {
            ZipError::Io { source, .. } => source.kind(),
            _ => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}
