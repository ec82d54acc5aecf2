//! The central directory of an archive: its records as they are, and the members that pass all checks.

use std::ops::Range;

use rawzip::{
    CompressionMethod, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ZipArchive, ZipFileHeaderRecord,
    ZipLocator,
};

use super::check;
use super::error::ZipError;
use super::member::{ZipDirectory, ZipMember, ZipMethod, decode_name};
use crate::archive::member::{ArchiveError, Member, StoredForm, StoredForms, VisitMember};
use crate::limits::ArchiveBudget;
use crate::paths;
use crate::read_at::{ByteSection, ReadAt};
use crate::sniff::{FileType, SNIFF_BYTES};
use prep_failure::{Quoted, QuotedValue};

/// Maximum number of members for which memory is reserved, because the declared number may be wrong.
const MAX_RESERVED: u64 = 1 << 16;

/// Maximum length in bytes of an extra field, of all extra fields, and of a comment in a form. A hostile directory has long
/// ones for each member.
const MAX_FORM_EXTRA_BYTES: usize = 24;
const MAX_FORM_EXTRAS_BYTES: usize = 1024;
const MAX_FORM_COMMENT_BYTES: usize = 1024;

/// The records of a central directory. They are not checked.
pub(super) struct Records<'a, R: ?Sized> {
    archive: ZipArchive<Positional<'a, R>>,
    buffer: Vec<u8>,
    /// Offset of the archive in the base file.
    start: u64,
}

impl<'a, R: ReadAt + ?Sized> Records<'a, R> {
    /// Finds the central directory of the archive `section`, which begins at offset `start` of the base file.
    pub fn locate(section: &'a ByteSection<&'a R>, start: u64) -> Result<Self, ZipError> {
        let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
        let archive = ZipLocator::new()
            .locate_in_reader(Positional(section), &mut buffer, section.len())
            .map_err(|(_, error)| no_directory(section, start, error))?;
        Ok(Self {
            archive,
            buffer,
            start,
        })
    }

    /// Offset of the central directory in the base file.
    pub fn offset(&self) -> u64 {
        self.start + self.archive.directory_offset()
    }

    /// Offset in the base file of the end of the archive: the end of its last record with its comment.
    pub fn end(&self) -> u64 {
        self.start + self.archive.end_offset()
    }

    /// The number of members that the end record declares. Writers without zip64 store it modulo 65,536.
    pub fn declared(&self) -> u64 {
        self.archive.entries_hint()
    }

    /// Whether the directory may have `count` members, according to the end record.
    pub fn may_have(&self, count: u64) -> bool {
        count == self.declared() || count % 0x1_0000 == self.declared()
    }

    /// Calls `visit` for each record. Returns the number of records.
    ///
    /// # Errors
    /// If a record cannot be read. Also returns errors from `visit`.
    pub fn each(
        &mut self,
        mut visit: impl FnMut(&ZipFileHeaderRecord<'_>) -> Result<(), ZipError>,
    ) -> Result<u64, ZipError> {
        let mut position = self.offset();
        let mut records = self.archive.entries(&mut self.buffer);
        let mut count = 0;
        while let Some(record) = records
            .next_entry()
            .map_err(|error| damaged(position, error))?
        {
            position = self.start.saturating_add(record.central_directory_offset());
            count += 1;
            visit(&record)?;
        }
        Ok(count)
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
        Self::read_with(base, range, budget, StoredForms::Skip)
    }

    /// Like [`read`](Self::read), and also reads how the members are stored, if requested.
    ///
    /// # Errors
    /// Same as [`read`](Self::read).
    pub fn read_with<R: ReadAt + ?Sized>(
        base: &R,
        range: Range<u64>,
        budget: &ArchiveBudget,
        forms: StoredForms,
    ) -> Result<Self, ZipError> {
        let start = range.start;
        let section = ByteSection::new(base, range);
        let mut records = Records::locate(&section, start)?;
        let directory = records.offset();
        let mut entries = ZipDirectory::default();
        entries.reserve(records.declared().min(MAX_RESERVED) as usize);
        let count = records.each(|record| {
            let form = (forms == StoredForms::Read).then(|| stored_form(record));
            add(&mut entries, record, form, (start, budget))
        })?;
        if !records.may_have(count) {
            let declared = records.declared();
            return Err(ZipError::DamagedDirectory {
                offset: directory,
                reason: format!("it contains {count} records, but declares {declared}"),
            });
        }
        check::duplicates(base, &mut entries)?;
        check::overlaps(&mut entries, directory)?;
        reject_hidden_front(&section, start, &entries)?;
        Ok(entries)
    }

    /// Visits all members with their contents. `base` must be the file from which the directory was read.
    ///
    /// # Errors
    /// [`ZipError`] if a member cannot be opened; errors from `visit`.
    pub fn visit(&self, base: &impl ReadAt, visit: VisitMember<'_>) -> Result<(), ArchiveError> {
        for (index, member) in self.iter().enumerate() {
            let found = Member {
                path: member.path,
                is_directory: member.is_directory,
                size: Some(member.size),
                offset: None,
                crc32: Some(member.crc32),
                stored: self.form(index),
            };
            match member.is_directory {
                true => visit(&found, &mut std::io::empty())?,
                false => visit(&found, &mut member.to_entry().open(base)?)?,
            }
        }
        Ok(())
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
    form: Option<StoredForm>,
    (start, budget): (u64, &ArchiveBudget),
) -> Result<(), ZipError> {
    let raw = record.file_path().as_bytes();
    let offset = start.saturating_add(record.local_header_offset());
    let Some(member) = decode_name(raw, record.flags().is_utf8()) else {
        return Err(ZipError::DamagedDirectory {
            offset: start.saturating_add(record.central_directory_offset()),
            reason: format!(
                "the name {} is not UTF-8",
                Quoted(&String::from_utf8_lossy(raw))
            ),
        });
    };
    let is_directory = raw.ends_with(b"/");
    let path = match paths::normalize(&member) {
        Ok(path) => path,
        Err(paths::PathError::Empty) if is_directory => return Ok(()),
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
        is_directory,
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
    entries.push(&entry, form);
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

/// Returns how a member is stored. Leaves out lengths and, in the extra fields, times, because they differ between members.
fn stored_form(record: &ZipFileHeaderRecord<'_>) -> StoredForm {
    let (mut extras, mut unix_time) = (String::from("["), None);
    for (id, content) in record.extra_fields() {
        if extras.len() > MAX_FORM_EXTRAS_BYTES {
            break;
        }
        match id.as_u16() {
            0x5455 => {
                let seconds = content.get(1..).and_then(|bytes| bytes.first_chunk());
                unix_time = seconds.map(|bytes| f64::from(u32::from_le_bytes(*bytes)));
                extras.push_str(" time");
            }
            id @ (0x000a | 0x0001) => extras.push_str(&format!(" {id:#06x}")),
            id => {
                let content = content.get(..MAX_FORM_EXTRA_BYTES).unwrap_or(content);
                extras.push_str(&format!(" {id:#06x} {content:?}"));
            }
        }
    }
    let dos = record.last_modified_dos();
    let (clock, date) = (u64::from(dos.packed_time()), u64::from(dos.packed_date()));
    let days = (date >> 9) * 372 + (date >> 5 & 15) * 31 + (date & 31);
    let seconds = (clock >> 11) * 3600 + (clock >> 5 & 63) * 60 + (clock & 31) * 2;
    let comment = record.comment();
    let comment = comment.as_bytes();
    let comment = comment.get(..MAX_FORM_COMMENT_BYTES).unwrap_or(comment);
    StoredForm {
        time: unix_time.unwrap_or((days * 86_400 + seconds) as f64),
        form: format!(
            "made by {}, flags {}, method {}, attributes {:#x}, extra fields {extras} ], comment {}",
            record.version_made_by().as_u16(),
            record.flags().bits(),
            record.compression_method().as_u16(),
            record.external_attributes(),
            QuotedValue(&String::from_utf8_lossy(comment))
        ),
        compressed_bytes: Some(record.compressed_size_hint()),
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
