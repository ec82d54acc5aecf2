//! Indexing a member that is itself an archive.

use std::io::{self, Read};

use super::entry::{Method, ZipEntry};
use super::error::ZipError;
use crate::inflated::{Index, Indexer, Windows};
use crate::read_at::{ReadAt, Section};

/// A deflated member, read as [`MemberReader`](super::MemberReader) reads it, while an index of it is made.
pub struct MemberIndexer<'a, R: ReadAt> {
    entry: &'a ZipEntry,
    inner: Indexer<'a, Section<R>>,
}

impl ZipEntry {
    /// Opens a deflated member for reading and indexing. `None` for a stored one. What has to be known to begin within it is
    /// kept by `windows`.
    ///
    /// # Errors
    /// As [`ZipEntry::locate`]; those of the windows.
    pub fn indexer<'a, R: ReadAt>(
        &'a self,
        base: R,
        windows: &'a dyn Windows,
    ) -> Result<Option<MemberIndexer<'a, R>>, ZipError> {
        if self.method == Method::Stored {
            return Ok(None);
        }
        let range = self.locate(&base)?;
        let inner = Indexer::new(Section::new(base, range), windows);
        let inner = inner.map_err(|error| self.failed(error))?;
        Ok(Some(MemberIndexer { entry: self, inner }))
    }
}

impl<R: ReadAt> MemberIndexer<'_, R> {
    /// Reads what was not read, checks size and CRC of the content, and returns where to begin; `None` if that can only be
    /// its beginning.
    ///
    /// # Errors
    /// As those of reading the member.
    pub fn finish(self) -> Result<Option<Index>, ZipError> {
        let entry = self.entry;
        let indexed = self.inner.finish(entry.size);
        let indexed = indexed.map_err(|error| entry.failed(error))?;
        entry.check_length(indexed.len)?;
        entry.check_used(indexed.used)?;
        entry.check_crc(indexed.crc32)?;
        Ok(indexed.index)
    }
}

/// Errors hold a [`ZipError`].
impl<R: ReadAt> Read for MemberIndexer<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer);
        read.map_err(|error| self.entry.failed(error).into())
    }
}
