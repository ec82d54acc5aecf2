//! The description of a member.

use std::ops::Range;

use super::ZipError;

/// Whether a member is a file or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory; its name in the archive ends with `/`.
    Directory,
}

/// The compression method of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ZipMethod {
    /// Uncompressed.
    Stored,
    /// Raw deflate (RFC 1951).
    Deflate,
}

/// A member as the central directory describes it.
pub type ZipEntry = ZipRecord<String>;

/// A [`ZipEntry`] whose path is borrowed from a [`ZipDirectory`](super::ZipDirectory).
pub type ZipMember<'a> = ZipRecord<&'a str>;

/// A member as the central directory describes it, with a path of type `P`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZipRecord<P> {
    /// Normalized path (see [`crate::paths::normalize`]), without a trailing `/`.
    pub path: P,
    /// Whether it is a file or a directory.
    pub kind: EntryKind,
    /// The compression method.
    pub method: ZipMethod,
    /// Offset of the local header in the base file, in bytes.
    pub header_offset: u64,
    /// Upper bound for the end of the member's data: the offset of the next member or of the central directory.
    pub limit: u64,
    /// Compressed size in bytes.
    pub compressed_size: u64,
    /// Uncompressed size in bytes.
    pub size: u64,
    /// CRC-32 (ISO-HDLC) of the content.
    pub crc32: u32,
}

impl<P> ZipRecord<P> {
    pub(super) fn with_path<Q>(&self, path: Q) -> ZipRecord<Q> {
        ZipRecord {
            path,
            kind: self.kind,
            method: self.method,
            header_offset: self.header_offset,
            limit: self.limit,
            compressed_size: self.compressed_size,
            size: self.size,
            crc32: self.crc32,
        }
    }
}

impl ZipMember<'_> {
    /// Converts to a [`ZipEntry`], which does not borrow from the directory.
    pub fn to_entry(&self) -> ZipEntry {
        self.with_path(self.path.to_owned())
    }
}

impl ZipEntry {
    /// Returns the range of the content in the base file, or `None` if the member is compressed. An archive that is
    /// stored inside this archive can be opened in that range.
    ///
    /// # Errors
    /// Same as [`ZipEntry::locate`].
    pub fn section<R: crate::read_at::ReadAt + ?Sized>(
        &self,
        base: &R,
    ) -> Result<Option<Range<u64>>, ZipError> {
        match self.method {
            ZipMethod::Stored => self.locate(base).map(Some),
            ZipMethod::Deflate => Ok(None),
        }
    }
}
