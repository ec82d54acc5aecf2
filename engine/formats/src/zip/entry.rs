//! One member of an archive.

use std::ops::Range;

use super::ZipError;

/// What a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A file.
    File,
    /// A folder (its name ends with `/` in the archive).
    Directory,
}

/// How a member's bytes are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// As they are.
    Stored,
    /// Raw deflate (RFC 1951).
    Deflate,
}

/// A member, as the central directory describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZipEntry {
    /// Normalised path (see [`crate::paths::normalize`]), without a `/` at the end.
    pub path: String,
    /// File or folder.
    pub kind: EntryKind,
    /// How the bytes are stored.
    pub method: Method,
    /// Offset of the local header in the base file.
    pub header_offset: u64,
    /// Where the next record begins at the latest, in the base file: the
    /// member's data ends before it.
    pub limit: u64,
    /// Bytes in the archive.
    pub compressed_size: u64,
    /// Bytes when read.
    pub size: u64,
    /// CRC-32 (ISO-HDLC) of the member's content.
    pub crc32: u32,
}

impl ZipEntry {
    /// The member's bytes as a range of the base file, when they are stored
    /// as they are: an archive inside the archive is opened with it in place.
    /// `None` for deflated members.
    ///
    /// # Errors
    /// As [`ZipEntry::locate`].
    pub fn section<R: crate::read_at::ReadAt + ?Sized>(
        &self,
        base: &R,
    ) -> Result<Option<Range<u64>>, ZipError> {
        match self.method {
            Method::Stored => self.locate(base).map(Some),
            Method::Deflate => Ok(None),
        }
    }
}
