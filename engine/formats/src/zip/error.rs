//! Errors when reading zip archives.

use std::io;

use crate::limits::LimitExceeded;
use crate::paths::PathError;
use crate::sniff::FileType;
use prep_failure::{Quoted, units};

/// An archive or member that cannot be read. Offsets are in bytes from the start of the file that contains the archive.
#[derive(Debug, thiserror::Error)]
pub enum ZipError {
    /// The file is not a zip archive.
    #[error(
        "got {found}, {}, expected a zip archive; {}fetch the file again",
        units::bytes(*.size),
        match found {
            // A server sends a page instead of a file that the user may not download.
            FileType::Html => "accept the rules and check the credentials, then ",
            _ => "",
        }
    )]
    NotAZip {
        /// The type that its first bytes indicate.
        found: FileType,
        /// Size in bytes.
        size: u64,
    },
    /// The file begins like a zip archive, but its end is missing.
    #[error("the zip archive is truncated after {}: the end of central directory is missing; fetch it again", units::bytes(*.size))]
    Truncated {
        /// Size of the file in bytes.
        size: u64,
    },
    /// The central directory cannot be parsed.
    #[error(
        "the central directory of the zip archive is damaged at byte {offset}: {reason}; fetch the archive again"
    )]
    DamagedDirectory {
        /// Offset of the damage.
        offset: u64,
        /// The violated rule.
        reason: String,
    },
    /// The member requires a password.
    #[error(
        "member {member} at byte {offset} is encrypted; only archives without a password can be read", member = Quoted(.member))]
    Encrypted {
        /// Path of the member.
        member: String,
        /// Offset of its local header.
        offset: u64,
    },
    /// The member uses a compression method other than "stored" and "deflate".
    #[error(
        "member {member} at byte {offset} uses compression method {method}; only 0 (stored) and 8 (deflate) can be read", member = Quoted(.member))]
    UnsupportedMethod {
        /// Path of the member.
        member: String,
        /// Offset of its local header.
        offset: u64,
        /// Method number of the zip specification (4.4.5).
        method: u16,
    },
    /// The path of the member could lead out of the target directory.
    #[error("member {member} at byte {offset} has an unsafe path", member = Quoted(.member))]
    UnsafePath {
        /// Path of the member as in the archive.
        member: String,
        /// Offset of its local header.
        offset: u64,
        /// The violated rule.
        #[source]
        cause: PathError,
    },
    /// The member is a symbolic link.
    #[error(
        "member {member} at byte {offset} is a symbolic link; only files and directories are extracted", member = Quoted(.member))]
    Symlink {
        /// Path of the member.
        member: String,
        /// Offset of its local header.
        offset: u64,
    },
    /// The member is a device, pipe or socket.
    #[error(
        "member {member} at byte {offset} is a special file (mode {mode:o}); only files and directories are extracted", member = Quoted(.member))]
    SpecialFile {
        /// Path of the member.
        member: String,
        /// Offset of its local header.
        offset: u64,
        /// Unix mode.
        mode: u32,
    },
    /// Two members have the same path and different contents, so the intended one is unknown.
    #[error(
        "member {member} occurs twice with different contents (at bytes {first} and {offset}), so the intended one is unknown", member = Quoted(.member))]
    DifferingDuplicate {
        /// Path of the members.
        member: String,
        /// Offset of the first local header.
        first: u64,
        /// Offset of the second local header.
        offset: u64,
    },
    /// The path of a member is below a path that is a file.
    #[error("member {member} at byte {offset} is inside {file}, which is a file", member = Quoted(.member), file = Quoted(.file))]
    FileAsDirectory {
        /// Path of the member.
        member: String,
        /// Offset of its local header.
        offset: u64,
        /// Path of the file.
        file: String,
    },
    /// A record of the central directory refers to bytes that are not a local header.
    #[error(
        "member {member} at byte {offset}: found the bytes {found:02x?}, expected a local header", member = Quoted(.member))]
    NoHeader {
        /// Path of the member.
        member: String,
        /// Offset at which the local header should begin.
        offset: u64,
        /// The bytes in place of the signature, at most four.
        found: Vec<u8>,
    },
    /// The local header differs from the central directory.
    #[error(
        "member {member} at byte {offset}: {field} is {local} in the local header, but {central} in the central directory", member = Quoted(.member))]
    HeaderMismatch {
        /// Path of the member.
        member: String,
        /// Offset of its local header.
        offset: u64,
        /// The field that differs.
        field: &'static str,
        /// Value in the local header.
        local: String,
        /// Value in the central directory.
        central: String,
    },
    /// Two members share bytes of the archive, or one extends into the central directory.
    #[error(
        "member {member} at byte {offset} overlaps the data that begins at byte {next}, as in a zip bomb", member = Quoted(.member))]
    Overlap {
        /// Path of the member.
        member: String,
        /// Offset of its local header.
        offset: u64,
        /// Offset of the next member or of the central directory.
        next: u64,
    },
    /// The member declares more bytes than its compressed data can contain.
    #[error(
        "member {member} at byte {offset} declares {size} bytes for {compressed_size} compressed bytes, a ratio over the limit of {limit}:1", member = Quoted(.member))]
    Ratio {
        /// Path of the member.
        member: String,
        /// Offset of its local header.
        offset: u64,
        /// Declared size.
        size: u64,
        /// Compressed size.
        compressed_size: u64,
        /// Maximum ratio of the compression method.
        limit: u64,
    },
    /// The archive has too many members, or they declare too many bytes.
    #[error("the archive exceeds a limit at member {member} (byte {offset})", member = Quoted(.member))]
    Limit {
        /// The first member over the limit.
        member: String,
        /// Offset of its local header.
        offset: u64,
        /// The exceeded limit.
        #[source]
        cause: LimitExceeded,
    },
    /// The CRC of the content differs from the declared one.
    #[error(
        "member {member} at byte {offset} is damaged: CRC-32 {actual:08x} instead of {expected:08x}; fetch the archive again", member = Quoted(.member))]
    WrongCrc {
        /// Path of the member.
        member: String,
        /// Offset of its local header.
        offset: u64,
        /// The declared CRC.
        expected: u32,
        /// The CRC of the content.
        actual: u32,
    },
    /// The content is longer than declared.
    #[error(
        "member {member} at byte {offset} is longer than the {size} bytes that the central directory declares", member = Quoted(.member))]
    TooLong {
        /// Path of the member.
        member: String,
        /// Offset of its local header.
        offset: u64,
        /// The declared size in bytes.
        size: u64,
    },
    /// The content is shorter than declared.
    #[error(
        "member {member} at byte {offset} ends after {actual} of {size} declared bytes; fetch the archive again", member = Quoted(.member))]
    TooShort {
        /// Path of the member.
        member: String,
        /// Offset of its local header.
        offset: u64,
        /// The declared size in bytes.
        size: u64,
        /// The size of the content in bytes.
        actual: u64,
    },
    /// The deflate stream is invalid, or shorter than its declared compressed size.
    #[error("member {member} at byte {offset} is damaged: {reason}; fetch the archive again", member = Quoted(.member))]
    Corrupt {
        /// Path of the member.
        member: String,
        /// Offset of its local header.
        offset: u64,
        /// The decoder's message.
        reason: String,
    },
    /// An I/O error from the file that contains the archive.
    #[error("reading the zip archive at byte {offset} failed")]
    Io {
        /// Offset of the read.
        offset: u64,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
}

impl From<ZipError> for io::Error {
    /// Converts the error for use in [`io::Read`]. [`io::Error::downcast`] recovers the original error.
    fn from(error: ZipError) -> Self {
        let kind = match &error {
            ZipError::Io { source, .. } => source.kind(),
            _ => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}
