//! Indexes a compressed member while it is read, for random access to an archive inside the archive.

use std::io::{self, Read};

use super::entry::{ZipEntry, ZipMethod};
use super::error::ZipError;
use crate::inflated::{InflateIndex, InflateIndexer, WindowStore};
use crate::read_at::{ByteSection, ReadAt};

/// Reads a compressed member like [`MemberReader`](super::MemberReader), and builds an index for later random access.
pub struct MemberIndexer<'a, R: ReadAt> {
    entry: &'a ZipEntry,
    inner: InflateIndexer<'a, ByteSection<R>>,
}

impl ZipEntry {
    /// Opens a compressed member for reading and indexing. Returns `None` for a stored member, which needs no index.
    /// `windows` stores the data that is needed to start decoding in the middle.
    ///
    /// # Errors
    /// Same as [`ZipEntry::locate`], and I/O errors from `windows`.
    pub fn indexer<'a, R: ReadAt>(
        &'a self,
        base: R,
        windows: &'a dyn WindowStore,
    ) -> Result<Option<MemberIndexer<'a, R>>, ZipError> {
        if self.method == ZipMethod::Stored {
            return Ok(None);
        }
        let range = self.locate(&base)?;
        let inner = InflateIndexer::new(ByteSection::new(base, range), windows);
        let inner = inner.map_err(|error| self.failed(error))?;
        Ok(Some(MemberIndexer { entry: self, inner }))
    }
}

impl<R: ReadAt> MemberIndexer<'_, R> {
    /// Reads the rest of the member, verifies the size and CRC of its content, and returns the index. The index is
    /// `None` if decoding can start only at the beginning.
    ///
    /// # Errors
    /// [`ZipError`] if reading fails, or if the size or CRC is wrong.
    pub fn finish(self) -> Result<Option<InflateIndex>, ZipError> {
        let entry = self.entry;
        let indexed = self.inner.finish(entry.size);
        let indexed = indexed.map_err(|error| entry.failed(error))?;
        entry.check_length(indexed.len)?;
        entry.check_used(indexed.used)?;
        entry.check_crc(indexed.crc32)?;
        Ok(indexed.index)
    }
}

/// Its errors contain a [`ZipError`].
impl<R: ReadAt> Read for MemberIndexer<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer);
        read.map_err(|error| self.entry.failed(error).into())
    }
}
