//! The members of archives in all formats, and the errors when reading them.

use std::io::{self, Read};

use crate::limits::LimitExceeded;
use crate::paths::{self, PathError};
use crate::sniff::FileType;
use crate::zip::error::ZipError;
use prep_failure::Quoted;

/// Whether members are visited with their [`StoredForm`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredForms {
    /// Does not read stored forms.
    Skip,
    /// Reads stored forms from the headers of zip, tar and gzip archives.
    Read,
}

/// Receives a member and its content, which is empty for a directory.
pub type VisitMember<'v> = &'v mut dyn FnMut(&Member<'_>, &mut dyn Read) -> io::Result<()>;

/// A member of an archive.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// Normalized path (see [`crate::paths::normalize`]), without a trailing `/`.
    pub path: &'a str,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Uncompressed size in bytes, 0 for a directory. `None` for gzip, which does not declare it.
    pub size: Option<u64>,
    /// Offset of the content in the uncompressed tar or 7z data. `None` for zip, gzip, and sparse files in tar.
    pub offset: Option<u64>,
    /// CRC-32 of the content, if the archive contains it.
    pub crc32: Option<u32>,
    /// How the archive stores the member, if requested. Never set for 7z.
    pub stored: Option<&'a StoredForm>,
}

/// How an archive stores a member. This information is visible without opening the member, so it can leak answers.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredForm {
    /// Modification time in seconds. Only times in the same archive are comparable. MS-DOS times are converted
    /// as if each month had 31 days, so a later time remains later.
    pub time: f64,
    /// Version, flags, method, attributes, owner and extra fields, as one string for comparison.
    pub form: String,
    /// Compressed size in bytes. `None` if the archive compresses its members together.
    pub compressed_bytes: Option<u64>,
}

/// An archive that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The zip archive cannot be read.
    #[error(transparent)]
    Zip(#[from] ZipError),
    /// The file does not have the expected format.
    #[error("got {found}, expected {expected}; fetch the file again")]
    OtherFormat {
        /// The expected format, with an article, for example `a 7z archive`.
        expected: &'static str,
        /// The type that its first bytes indicate.
        found: FileType,
    },
    /// The 7z archive requires a password.
    #[error("the 7z archive is encrypted; only archives without a password can be read")]
    Encrypted,
    /// The 7z archive uses an unsupported compression method.
    #[error(
        "the 7z archive uses the method {method}; LZMA, LZMA2, Deflate, Copy and the BCJ and Delta filters can be read"
    )]
    UnsupportedMethod {
        /// Name of the method.
        method: String,
    },
    /// The path of a member could lead out of the target directory.
    #[error("member {member} has an unsafe path", member = Quoted(.member))]
    UnsafePath {
        /// Path of the member.
        member: String,
        /// The violated rule.
        #[source]
        cause: PathError,
    },
    /// A member is neither a file nor a directory.
    #[error("member {member} is {kind}; only files and directories are extracted", member = Quoted(.member))]
    NotAFile {
        /// Path of the member.
        member: String,
        /// The member's kind, with an article, for example `a link or special file`.
        kind: String,
    },
    /// The archive has too many members, or they declare too many bytes.
    #[error("the archive exceeds a limit at member {member}", member = Quoted(.member))]
    Limit {
        /// The first member over the limit.
        member: String,
        /// The exceeded limit.
        #[source]
        cause: LimitExceeded,
    },
    /// The list of members of a 7z archive is too long.
    #[error("{0}")]
    LongList(#[source] LimitExceeded),
    /// The compressed bytes after the last member decompress to too many bytes.
    #[error("the tar archive has too much data after its last member")]
    LongEnd(#[source] LimitExceeded),
    /// The tar archive is truncated or a header is damaged.
    #[error("the tar archive is damaged or truncated; fetch it again")]
    DamagedTar(#[source] io::Error),
    /// The 7z archive is damaged or truncated, or the CRC of a member is wrong.
    #[error("the 7z archive is damaged or truncated ({reason}); fetch it again")]
    Damaged7z {
        /// The decoder's message.
        reason: String,
        /// The I/O error, if any.
        #[source]
        source: Option<io::Error>,
    },
    /// The file is not gzip.
    #[error("not gzip data")]
    NotGzip,
    /// The function that visits the members failed.
    #[error("member {member} of the {format} archive cannot be processed", member = Quoted(.member))]
    Visitor {
        /// The format.
        format: &'static str,
        /// Path of the member.
        member: String,
        /// The error of the function.
        #[source]
        source: io::Error,
    },
    /// An I/O error. It can also come from the function that visits the members.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Writing failed.
    #[error("writing the {format} archive failed{reason}")]
    Write {
        /// The format.
        format: &'static str,
        /// Empty, or a colon and the encoder's message.
        reason: String,
        /// The I/O error from the content or the output, if any.
        #[source]
        source: Option<io::Error>,
    },
}

/// Validates and normalizes the path of a member that is written.
pub(crate) fn safe(path: &str) -> Result<String, ArchiveError> {
    paths::normalize(path).map_err(|cause| ArchiveError::UnsafePath {
        member: path.to_owned(),
        cause,
    })
}
