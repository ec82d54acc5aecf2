//! Reads 7z archives, sequentially or in [parts](SevenZPart), and writes them deterministically.
//!
//! A solid archive stores many members in one compressed block. So members are in the order of the blocks, and reading
//! a member requires decoding the members before it. Parts begin where a compressed stream resets its dictionary. They
//! can be decoded in parallel.

mod header;
mod parts;
mod write;

use std::io::{self, Read, Seek};

use sevenz_rust2::{ArchiveEntry, ArchiveReader, Error, Password};

use crate::archive::member::{ArchiveError, Member, VisitMember};
use crate::limits::ArchiveBudget;
use crate::paths::{self, PathError};
use crate::read_at::ReadAt;
use crate::sniff::{FileType, SNIFF_BYTES};
pub use parts::{Coder, PartSpans, SevenZPart};
use parts::{damaged, failed};
pub use write::SevenZWriter;
use write::UNIX_EXTENSION;

/// Windows' attribute of a link.
const REPARSE_POINT: u32 = 0x400;

/// An archive whose list of members has been read.
pub struct SevenZReader<R: Read + Seek> {
    inner: ArchiveReader<R>,
}

impl<R: Read + Seek> SevenZReader<R> {
    /// Reads the list of members and validates their paths.
    ///
    /// # Errors
    /// [`ArchiveError`] if the list cannot be read, a path is unsafe, or the budget is exceeded.
    pub fn open(mut input: R, budget: &ArchiveBudget) -> Result<Self, ArchiveError> {
        let mut head = Vec::new();
        Read::by_ref(&mut input)
            .take(SNIFF_BYTES as u64)
            .read_to_end(&mut head)
            .map_err(damaged)?;
        match FileType::detect(&head) {
            FileType::SevenZ => {}
            found => {
                let expected = "a 7z archive";
                return Err(ArchiveError::OtherFormat { expected, found });
            }
        }
        if let Some(header) = header::packed_header(&mut input).map_err(damaged)? {
            let checked = budget.check_header(header.packed, header.unpacked);
            checked.map_err(ArchiveError::LongList)?;
        }
        input.rewind().map_err(damaged)?;
        let mut inner = ArchiveReader::new(input, Password::empty()).map_err(failed)?;
        // The library's parallel decoder keeps an unlimited number of parts in memory. See `parts` for this crate's
        // decoder.
        inner.set_thread_count(1);
        for entry in &inner.archive().files {
            path(entry)?;
            let added = budget.add(entry.name(), entry.size());
            added.map_err(|cause| ArchiveError::Limit {
                member: entry.name().to_owned(),
                cause,
            })?;
        }
        Ok(Self { inner })
    }

    /// Visits all members in the order of the blocks, without their contents. Members without content come last.
    ///
    /// # Errors
    /// Same as [`open`](Self::open).
    pub fn list(&self, visit: &mut dyn FnMut(&Member<'_>)) -> Result<(), ArchiveError> {
        let archive = self.inner.archive();
        let blocks = &archive.stream_map.file_block_index;
        let entries = || archive.files.iter().zip(blocks);
        let inside = entries().filter(|(_, block)| block.is_some());
        let others = entries().filter(|(_, block)| block.is_none());
        let mut offset = 0;
        for (entry, _) in inside.chain(others) {
            if let Some(path) = path(entry)? {
                visit(&member(entry, &path, offset));
            }
            offset += if entry.is_directory() {
                0
            } else {
                entry.size()
            };
        }
        Ok(())
    }

    /// Returns the parts that can be decoded separately, or `None` if they do not cover the entire content.
    /// [`PartSpans`] yields the concatenated contents of all members. `source` must be the same archive.
    ///
    /// # Errors
    /// [`ArchiveError::Damaged7z`] if `source` cannot be read.
    pub fn parts(&self, source: &impl ReadAt) -> Result<Option<Vec<SevenZPart>>, ArchiveError> {
        parts::parts(self.inner.archive(), source).map_err(damaged)
    }

    /// Visits all members, in the order of [`list`](Self::list). Content that `visit` does not read is skipped.
    ///
    /// # Errors
    /// [`ArchiveError`]. If `visit` returns an error, reading stops.
    pub fn read(mut self, visit: VisitMember<'_>) -> Result<(), ArchiveError> {
        // The decoder's error type cannot contain the error of `visit`.
        let mut stopped = None;
        let mut offset = 0;
        let result = self.inner.for_each_entries(|entry, content| {
            if stopped.is_some() {
                // `false` ends only the current block, so the closure is called again for the next block.
                return Ok(false);
            }
            let start = offset;
            offset += if entry.is_directory() {
                0
            } else {
                entry.size()
            };
            let Ok(Some(path)) = path(entry) else {
                return Ok(true);
            };
            let mut content = FailureRecorder {
                inner: content,
                failed: false,
            };
            match visit(&member(entry, &path, start), &mut content) {
                Ok(()) => Ok(true),
                // If decoding fails, `visit` also returns an error.
                Err(error) if content.failed => Err(Error::Io(error, "".into())),
                Err(source) => {
                    stopped = Some(ArchiveError::Visitor {
                        format: "7z",
                        member: path,
                        source,
                    });
                    Ok(false)
                }
            }
        });
        match (stopped, result) {
            (Some(error), _) => Err(error),
            (None, result) => result.map_err(failed),
        }
    }
}

/// A reader that records whether reading failed.
struct FailureRecorder<'a> {
    inner: &'a mut dyn Read,
    failed: bool,
}

impl Read for FailureRecorder<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let result = self.inner.read(buf);
        self.failed |= matches!(&result, Err(error) if error.kind() != io::ErrorKind::Interrupted);
        result
    }
}

/// Returns the path of an entry. `None` for the root directory and for entries that mark a deletion.
fn path(entry: &ArchiveEntry) -> Result<Option<String>, ArchiveError> {
    let name = || entry.name().to_owned();
    if entry.is_anti_item() {
        return Ok(None);
    }
    let attributes = entry.windows_attributes();
    let unix_type = if attributes & UNIX_EXTENSION != 0 {
        attributes >> 16 & 0o170_000
    } else {
        0
    };
    let regular = matches!(unix_type, 0 | 0o100_000 | 0o040_000);
    if entry.has_windows_attributes && (!regular || attributes & REPARSE_POINT != 0) {
        return Err(ArchiveError::NotAFile {
            member: name(),
            kind: "a link or special file".to_owned(),
        });
    }
    match paths::normalize(entry.name()) {
        Ok(path) => Ok(Some(path)),
        Err(PathError::Empty) if entry.is_directory() => Ok(None),
        Err(cause) => Err(ArchiveError::UnsafePath {
            member: name(),
            cause,
        }),
    }
}

/// Returns the member of an entry with this path, whose content begins at `offset` of the concatenated contents.
fn member<'a>(entry: &ArchiveEntry, path: &'a str, offset: u64) -> Member<'a> {
    let is_directory = entry.is_directory();
    Member {
        path,
        is_directory,
        size: Some(if is_directory { 0 } else { entry.size() }),
        offset: Some(offset),
        crc32: u32::try_from(entry.crc).ok().filter(|_| entry.has_crc),
        stored: None,
    }
}
