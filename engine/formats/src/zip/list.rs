//! Reads the central directory of an archive.

use std::ops::Range;

use rawzip::{
    CompressionMethod, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ZipFileHeaderRecord, ZipLocator,
};

use super::check;
use super::directory::ZipDirectory;
use super::entry::{EntryKind, ZipEntry, ZipMember, ZipMethod};
use super::error::ZipError;
use super::names;
use crate::limits::ArchiveBudget;
use crate::paths;
use crate::read_at::{ByteSection, ReadAt};
use crate::sniff::{FileType, SNIFF_BYTES};
use prep_failure::Quoted;

/// Maximum number of members for which memory is reserved, because the declared number may be wrong.
const MAX_RESERVED: u64 = 1 << 16;

/// The members of an archive, in the order of the central directory. For millions of members, use [`ZipDirectory`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZipListing {
    /// The members. Their paths are unique.
    pub entries: Vec<ZipEntry>,
}

impl ZipListing {
    /// Reads the central directory of the archive in the range `range` of `base`.
    ///
    /// # Errors
    /// [`ZipError`] for the first invalid member.
    pub fn read<R: ReadAt + ?Sized>(
        base: &R,
        range: Range<u64>,
        budget: &ArchiveBudget,
    ) -> Result<Self, ZipError> {
        let directory = ZipDirectory::read(base, range, budget)?;
        let entries = directory.iter().map(|member| member.to_entry()).collect();
        Ok(Self { entries })
    }
}

impl ZipDirectory {
    /// Reads the central directory of the archive in the range `range` of `base`.
    ///
    /// # Errors
    /// [`ZipError`] for the first invalid member.
    pub fn read<R: ReadAt + ?Sized>(
        base: &R,
        range: Range<u64>,
        budget: &ArchiveBudget,
    ) -> Result<Self, ZipError> {
        let start = range.start;
        let section = ByteSection::new(base, range);
        let size = section.len();
        let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
        let archive = ZipLocator::new()
            .locate_in_reader(Positional(&section), &mut buffer, size)
            .map_err(|(_, error)| no_directory(&section, start, error))?;
        let hint = archive.entries_hint();
        let directory = start + archive.directory_offset();
        let mut entries =
            ZipDirectory::with_capacity(usize::try_from(hint.min(MAX_RESERVED)).unwrap_or(0));
        let mut iterator = archive.entries(&mut buffer);
        let mut count = 0_u64;
        let mut position = directory;
        while let Some(record) = iterator
            .next_entry()
            .map_err(|error| damaged(position, error))?
        {
            position = start.saturating_add(record.central_directory_offset());
            count += 1;
            add(&mut entries, &record, start, budget)?;
        }
        // Writers without zip64 store the number of members modulo 65,536.
        if count != hint && count % 0x1_0000 != hint {
            let reason = format!("it contains {count} records, but declares {hint}");
            return Err(ZipError::DamagedDirectory {
                offset: directory,
                reason,
            });
        }
        check::duplicates(base, &mut entries)?;
        check::overlaps(&mut entries, directory)?;
        reject_hidden_front(&section, start, &entries)?;
        Ok(entries)
    }
}

/// Implements the trait of `rawzip` for random access to a section.
struct Positional<'a, R: ?Sized>(&'a ByteSection<&'a R>);

impl<R: ReadAt + ?Sized> rawzip::ReaderAt for Positional<'_, R> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
        ReadAt::read_at(self.0, buf, offset)
    }
}

/// Adds a member to `entries`. The root directory, which some archives contain, is skipped.
fn add(
    entries: &mut ZipDirectory,
    record: &ZipFileHeaderRecord<'_>,
    start: u64,
    budget: &ArchiveBudget,
) -> Result<(), ZipError> {
    let raw = record.file_path().as_bytes();
    let offset = start.saturating_add(record.local_header_offset());
    let Some(member) = names::decode(raw, record.flags().is_utf8()) else {
        return Err(ZipError::DamagedDirectory {
            offset: start.saturating_add(record.central_directory_offset()),
            reason: format!(
                "the name {} is not UTF-8",
                Quoted(&String::from_utf8_lossy(raw))
            ),
        });
    };
    let kind = if raw.ends_with(b"/") {
        EntryKind::Directory
    } else {
        EntryKind::File
    };
    let path = match paths::normalize(&member) {
        Ok(path) => path,
        Err(paths::PathError::Empty) if kind == EntryKind::Directory => return Ok(()),
        Err(cause) => {
            return Err(ZipError::UnsafePath {
                member,
                offset,
                cause,
            });
        }
    };
    if record.flags().is_encrypted() || record.flags().has_strong_encryption() {
        return Err(ZipError::Encrypted { member, offset });
    }
    reject_special(record.external_attributes() >> 16, &member, offset)?;
    let method = match record.compression_method() {
        CompressionMethod::STORE => ZipMethod::Stored,
        CompressionMethod::DEFLATE => ZipMethod::Deflate,
        other => {
            return Err(ZipError::UnsupportedMethod {
                member,
                offset,
                method: other.as_u16(),
            });
        }
    };
    let entry = ZipMember {
        path: &path,
        kind,
        method,
        header_offset: offset,
        limit: u64::MAX,
        compressed_size: record.compressed_size_hint(),
        size: record.uncompressed_size_hint(),
        crc32: record.crc32(),
    };
    check::sizes(&entry)?;
    if let Err(cause) = budget.add(&path, entry.size) {
        return Err(ZipError::Limit {
            member,
            offset,
            cause,
        });
    }
    entries.push(&entry);
    Ok(())
}

/// Rejects links, devices, pipes and sockets, according to the Unix mode. The mode is 0 if the archive was created on a
/// different system.
fn reject_special(mode: u32, member: &str, offset: u64) -> Result<(), ZipError> {
    let member = || member.to_owned();
    match mode & 0o170_000 {
        0o120_000 => Err(ZipError::Symlink {
            member: member(),
            offset,
        }),
        0o140_000 | 0o060_000 | 0o020_000 | 0o010_000 => Err(ZipError::SpecialFile {
            member: member(),
            offset,
            mode,
        }),
        _ => Ok(()),
    }
}

/// Returns the error for a file without an end of central directory.
fn no_directory<R: ReadAt + ?Sized>(
    section: &ByteSection<&R>,
    start: u64,
    error: rawzip::Error,
) -> ZipError {
    let size = section.len();
    if let rawzip::ErrorKind::IO(source) = error.kind()
        && source.kind() != std::io::ErrorKind::UnexpectedEof
    {
        return ZipError::Io {
            offset: start,
            source: std::io::Error::new(source.kind(), error),
        };
    }
    match head(section) {
        Err(source) => ZipError::Io {
            offset: start,
            source,
        },
        Ok(head) => match FileType::detect(&head) {
            FileType::Zip => ZipError::Truncated { size },
            found => ZipError::NotAZip { found, size },
        },
    }
}

/// Reads the first bytes of the section, at most [`SNIFF_BYTES`].
fn head<R: ReadAt + ?Sized>(section: &ByteSection<&R>) -> std::io::Result<Vec<u8>> {
    let mut head = vec![0; SNIFF_BYTES.min(usize::try_from(section.len()).unwrap_or(SNIFF_BYTES))];
    ReadAt::read_exact_at(section, &mut head, 0)?;
    Ok(head)
}

fn damaged(offset: u64, error: rawzip::Error) -> ZipError {
    let reason = error.to_string();
    match error.kind() {
        rawzip::ErrorKind::IO(cause) if cause.kind() != std::io::ErrorKind::UnexpectedEof => {
            ZipError::Io {
                offset,
                source: std::io::Error::new(cause.kind(), error),
            }
        }
        _ => ZipError::DamagedDirectory { offset, reason },
    }
}

/// Rejects an archive that begins with a member that is not in its central directory.
///
/// This happens if an archive is truncated and its last complete member is a stored archive. The end of central
/// directory is then that of the inner archive.
fn reject_hidden_front<R: ReadAt + ?Sized>(
    section: &ByteSection<&R>,
    start: u64,
    entries: &ZipDirectory,
) -> Result<(), ZipError> {
    let first = entries.iter().map(|entry| entry.header_offset).min();
    if first.is_none_or(|first| first == start) {
        return Ok(());
    }
    let front = head(section).map_err(|source| ZipError::Io {
        offset: start,
        source,
    })?;
    if front.starts_with(b"PK\x03\x04") {
        return Err(ZipError::Truncated {
            size: section.len(),
        });
    }
    Ok(())
}
