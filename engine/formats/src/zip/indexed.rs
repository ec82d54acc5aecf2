//! Indexing a member that is itself an archive.

use std::io::{self, Write};

use super::entry::{Method, ZipEntry};
use super::error::ZipError;
use crate::inflated::{Index, build};
use crate::read_at::{ReadAt, Section};

impl ZipEntry {
    /// Where to begin reading the content of a deflated member, checked for size and CRC on the way. What has to be known
    /// there is written to `windows`; `watch` is told of bytes that were inflated. `None` for a stored member, and for one
    /// that can be read from its beginning only.
    ///
    /// # Errors
    /// As those of reading the member; those of `windows` and `watch` as [`ZipError::Io`].
    pub fn index<R: ReadAt>(
        &self,
        base: R,
        windows: &mut dyn Write,
        watch: &mut dyn FnMut(usize) -> io::Result<()>,
    ) -> Result<Option<Index>, ZipError> {
        if self.method == Method::Stored {
            return Ok(None);
        }
        let range = self.locate(&base)?;
        let packed = Section::new(base, range);
        let indexed = build(&packed, self.size, windows, watch);
        let indexed = indexed.map_err(|error| self.failed(error))?;
        self.check_length(indexed.len)?;
        self.check_used(indexed.used)?;
        self.check_crc(indexed.crc32)?;
        Ok(indexed.index)
    }
}
