//! Reads the central directory of an archive.
//!
//! - [`ZipDirectory::read`] rejects wrong sizes, duplicate paths, members below a file (`a` and `a/b`), and overlapping
//!   members.
//! - [`read_tolerant`] returns the records without these checks. An audit of damaged archives uses it.

use std::io;
use std::io::{BufReader, Read};
use std::ops::Range;

use prep_failure::{Quoted, QuotedValue};
use rawzip::{
    CompressionMethod, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ZipArchive, ZipFileHeaderRecord,
    ZipLocator,
};

use super::error::ZipError;
use super::member::{
    LOCAL_HEADER_BYTES, ZipDirectory, ZipEntry, ZipMember, ZipMethod, decode_name, u16_at,
};
use super::nested::{self, LOCAL_RECORD, begins_with_member};
use super::read::DeflateReader;
use crate::archive::member::{ArchiveError, Member, StoredForm, StoredForms, VisitMember};
use crate::limits::ArchiveBudget;
use crate::paths;
use crate::read_at::{ByteSection, ReadAt};
use crate::sniff::{FileType, SNIFF_BYTES};

/// Memory is reserved for at most this number of members, because the number in the end record may be wrong.
const MAX_RESERVED: u64 = 1 << 16;

/// The text [`StoredForm::form`] describes how a member is stored. These constants limit, in bytes, one extra field,
/// all extra fields, and the comment in this text.
const MAX_FORM_EXTRA_BYTES: usize = 24;
const MAX_FORM_EXTRAS_BYTES: usize = 1024;
const MAX_FORM_COMMENT_BYTES: usize = 1024;

/// The unchecked records of a central directory.
pub(super) struct Records<'a, R: ?Sized> {
    archive: ZipArchive<Positional<'a, R>>,
    buffer: Vec<u8>,
    /// Offset of the archive in the file that contains it.
    start: u64,
}

impl<'a, R: ReadAt + ?Sized> Records<'a, R> {
    /// Finds the central directory of the archive `section`. The archive begins at the offset `start` of the file that
    /// contains it.
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

    /// Returns the offset of the central directory in the file that contains the archive.
    pub fn offset(&self) -> u64 {
        self.start + self.archive.directory_offset()
    }

    /// Returns the offset in the file at which the archive ends: after its last record and comment.
    pub fn end(&self) -> u64 {
        self.start + self.archive.end_offset()
    }

    /// Returns whether the located end record belongs to an inner archive, which is a member of the outer archive. In this
    /// case, the outer archive is truncated: its own end record is missing.
    ///
    /// The outer archive begins with a member at the start of `section`. An end record declares the offset of the
    /// directory relative to the start of its archive. If this offset is not relative to the start of `section`, the
    /// record belongs to an inner archive, which begins later.
    fn is_nested(&self, section: &ByteSection<&R>) -> io::Result<bool> {
        let (end_record, directory) = (self.archive.eocd_offset(), self.archive.directory_offset());
        Ok(nested::is_moved(section, end_record, directory)? && begins_with_member(section)?)
    }

    /// Returns the number of members that the end record declares. Writers without zip64 store the number modulo 65,536.
    pub fn declared(&self) -> u64 {
        self.archive.entries_hint()
    }

    /// Returns whether `count` members agree with the declared number.
    pub fn may_have(&self, count: u64) -> bool {
        count == self.declared() || count % 0x1_0000 == self.declared()
    }

    /// Calls `visit` with each record. Returns the number of records.
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
    pub fn read<R: ReadAt + ?Sized>(
        base: &R,
        range: Range<u64>,
        budget: &ArchiveBudget,
    ) -> Result<Self, ZipError> {
        Self::read_with(base, range, budget, StoredForms::Skip)
    }

    /// Like [`read`](Self::read). If requested, also reads how the members are stored.
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
                reason: format!("it contains {count} records, but {declared} records are declared"),
            });
        }
        duplicates(base, &mut entries)?;
        overlaps(&mut entries, directory)?;
        reject_hidden_front(&section, start, &records, &entries)?;
        Ok(entries)
    }

    /// Visits all members with their contents. `base` must be the file from which the directory was read.
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

/// Random access to a section, for `rawzip`.
struct Positional<'a, R: ?Sized>(&'a ByteSection<&'a R>);

impl<R: ReadAt + ?Sized> rawzip::ReaderAt for Positional<'_, R> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
        ReadAt::read_at(self.0, buf, offset)
    }
}

/// Adds a member to `entries`. Skips the root directory, which some archives contain.
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
    sizes(&entry)?;
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

/// Rejects links, devices, pipes and sockets. Archives of systems other than Unix have the mode 0.
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

/// Describes how a member is stored. The text `form` omits lengths and times, because they differ between members that
/// the same program wrote.
fn stored_form(record: &ZipFileHeaderRecord<'_>) -> StoredForm {
    let (mut extras, mut unix_time) = (String::from("["), None);
    for (id, content) in record.extra_fields() {
        if extras.len() > MAX_FORM_EXTRAS_BYTES {
            break;
        }
        match id.as_u16() {
            // The modification time in seconds since 1970, after a byte of flags.
            0x5455 => {
                let seconds = content.get(1..).and_then(|bytes| bytes.first_chunk());
                unix_time = seconds.map(|bytes| f64::from(u32::from_le_bytes(*bytes)));
                extras.push_str(" time");
            }
            // The content of these two fields (the times of NTFS, and the lengths of zip64) is omitted.
            id @ (0x000a | 0x0001) => extras.push_str(&format!(" {id:#06x}")),
            id => {
                let content = content.get(..MAX_FORM_EXTRA_BYTES).unwrap_or(content);
                extras.push_str(&format!(" {id:#06x} {content:?}"));
            }
        }
    }
    // MS-DOS packs year, month and day into 16 bits, and hours, minutes and seconds (divided by 2) into 16 bits.
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

/// Returns the error for a file in which no central directory was found.
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

/// Returns a function that converts I/O errors of a read at `offset`.
fn failed_at(offset: u64) -> impl Fn(io::Error) -> ZipError {
    move |source| ZipError::Io { offset, source }
}

/// Returns the first bytes of the archive, for [`FileType::detect`].
fn head<R: ReadAt + ?Sized>(section: &ByteSection<&R>) -> std::io::Result<Vec<u8>> {
    let mut head = vec![0; SNIFF_BYTES.min(usize::try_from(section.len()).unwrap_or(SNIFF_BYTES))];
    ReadAt::read_exact_at(section, &mut head, 0)?;
    Ok(head)
}

/// Converts an error when parsing the record at `offset` of the central directory.
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
/// Such an archive was truncated after an inner archive that is stored uncompressed. The end record that was found belongs
/// to the inner archive.
fn reject_hidden_front<R: ReadAt + ?Sized>(
    section: &ByteSection<&R>,
    start: u64,
    records: &Records<'_, R>,
    entries: &ZipDirectory,
) -> Result<(), ZipError> {
    let first = entries.iter().map(|entry| entry.header_offset).min();
    let is_hidden = match first {
        Some(first) => first != start && begins_with_member(section).map_err(failed_at(start))?,
        None => records.is_nested(section).map_err(failed_at(start))?,
    };
    if is_hidden {
        return Err(ZipError::Truncated {
            size: section.len(),
        });
    }
    Ok(())
}

const BUFFER_BYTES: usize = 1 << 18;

/// A record of the central directory, unchecked. Names may be unsafe or duplicate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RawMember {
    /// The name. Bytes that are not UTF-8 are replaced.
    pub name: String,
    /// Uncompressed size in bytes.
    pub size: u64,
    /// CRC-32 of the content.
    pub crc: u32,
    /// Compressed size in bytes.
    pub compressed: u64,
    /// Offset of the local header in the file that contains the archive.
    pub offset: u64,
    /// Compression method: 0 is stored, 8 is deflate.
    pub method: u16,
}

/// The unchecked records of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawListing {
    /// The records, in the order of the central directory.
    pub members: Vec<RawMember>,
    /// Number of bytes after the end record and its comment.
    pub trailing_bytes: u64,
}

/// Lists the records in the central directory of an archive. The archive is the range `range` of `base`. Accepts unsafe
/// names, duplicates and wrong sizes.
///
/// # Errors
/// [`ZipError`] if a record is missing or damaged, or if the number of members exceeds a limit.
pub fn read_tolerant<R: ReadAt + ?Sized>(
    base: &R,
    range: Range<u64>,
    budget: &ArchiveBudget,
) -> Result<RawListing, ZipError> {
    let (start, end) = (range.start, range.end);
    let section = ByteSection::new(base, range);
    let mut records = Records::locate(&section, start)?;
    let declared = records.declared();
    let (mut members, mut reached) = (Vec::new(), records.offset());
    let listed = records.each(|record| {
        let (name, offset) = (record.file_path(), record.local_header_offset());
        let member = RawMember {
            name: String::from_utf8_lossy(name.as_bytes()).into_owned(),
            size: record.uncompressed_size_hint(),
            crc: record.crc32(),
            compressed: record.compressed_size_hint(),
            offset: start.saturating_add(offset),
            method: record.compression_method().as_u16(),
        };
        let extra = record.extra_fields().remaining_bytes().len();
        let variable = name.as_bytes().len() + extra + record.comment().as_bytes().len();
        reached = start + record.central_directory_offset() + RECORD_BYTES + variable as u64;
        // The budget does not count sizes here, because sizes may be damaged.
        if let Err(cause) = budget.add(&member.name, 0) {
            let (member, offset) = (member.name, member.offset);
            return Err(ZipError::Limit {
                member,
                offset,
                cause,
            });
        }
        members.push(member);
        Ok(())
    });
    let is_nested = records.is_nested(&section).map_err(failed_at(start))?;
    // `is_nested` is true if the directory belongs to an archive inside a truncated archive. It is also true for a complete
    // archive, if bytes were inserted before its directory. Then the first member is not at its recorded offset, so
    // `has_first_member` is false.
    let first = members.iter().map(|member| member.offset).min();
    let has_first_member = match first.map(|first| read_up_to(&base, first, 4)) {
        Some(found) => found.map_err(failed_at(start))? == LOCAL_RECORD,
        None => true,
    };
    let is_listed = match &listed {
        Ok(count) => records.may_have(*count),
        Err(error) => !matches!(error, ZipError::DamagedDirectory { .. }),
    };
    // If the inner archive is compressed with deflate, its bytes may be in several stored blocks. Between the blocks
    // are headers, so the members of the inner archive are not at their declared offsets, either. Therefore `is_inside`
    // checks whether the end record is inside a member.
    let is_inside = || {
        let inside = nested::is_inside_member(&section, records.archive.eocd_offset());
        inside.map_err(failed_at(start))
    };
    // An archive that begins with a listed member has its own directory. `ZipDirectory::read` accepts it, too.
    let is_own = first == Some(start) && is_listed;
    if !is_own && (is_nested && has_first_member || (is_nested || !is_listed) && is_inside()?) {
        return Err(ZipError::Truncated {
            size: section.len(),
        });
    }
    match listed {
        Ok(count) if records.may_have(count) => Ok(RawListing {
            trailing_bytes: end.saturating_sub(records.end()),
            members,
        }),
        Ok(_) | Err(ZipError::DamagedDirectory { .. }) => Err(ZipError::DamagedDirectory {
            offset: reached,
            reason: format!(
                "the end of central directory record declares {declared} members, but {} are listed up to byte {reached}",
                members.len()
            ),
        }),
        Err(error) => Err(error),
    }
}

/// Length in bytes of a record of the central directory without its name, extra fields and comment.
const RECORD_BYTES: u64 = 46;

impl RawMember {
    /// Returns whether it is a directory. Some Windows programs write backslashes.
    pub fn is_directory(&self) -> bool {
        self.name.ends_with('/') || (self.name.ends_with('\\') && self.size == 0)
    }

    /// Returns the offset of the member's data. The inner `Err` describes how the local header differs from the directory.
    pub fn data_offset(&self, base: &impl ReadAt) -> io::Result<Result<u64, String>> {
        let offset = self.offset;
        let missing = || Ok(Err(format!("there is no local header at byte {offset}")));
        // The local header and its name have less than 2^18 bytes.
        let end = offset.checked_add(1 << 18);
        // Reading beyond `i64::MAX` would be a system error, but no file is that long.
        if end.is_none_or(|end| end > i64::MAX.unsigned_abs()) {
            return missing();
        }
        let head = read_up_to(base, offset, LOCAL_HEADER_BYTES as u64)?;
        if !head.starts_with(LOCAL_RECORD) {
            return missing();
        }
        let (name_bytes, extra_bytes) = (u16_at(&head, 26), u16_at(&head, 28));
        let name_offset = offset + LOCAL_HEADER_BYTES as u64;
        let name = &read_up_to(base, name_offset, u64::from(name_bytes))?;
        let found = String::from_utf8_lossy(name);
        if found != self.name && name.is_ascii() {
            let found = Quoted(&found);
            return Ok(Err(format!(
                "the local header at byte {offset} belongs to {found}"
            )));
        }
        Ok(Ok(name_offset
            + u64::from(name_bytes)
            + u64::from(extra_bytes)))
    }

    /// Returns the unverified content of the member, whose data begin at the offset `begin`. Returns `None` for an
    /// unsupported method.
    pub fn content<'a>(&self, base: &'a impl ReadAt, begin: u64) -> Option<Box<dyn Read + 'a>> {
        let data = begin..begin.saturating_add(self.compressed);
        let data = BufReader::with_capacity(BUFFER_BYTES, ByteSection::new(base, data));
        match self.method {
            0 => Some(Box::new(data)),
            8 => Some(Box::new(DeflateReader::new(data))),
            _ => None,
        }
    }
}

/// Reads `length` bytes at `offset`, or fewer at the end of the file.
fn read_up_to(base: &impl ReadAt, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let range = offset..offset.saturating_add(length);
    ByteSection::new(base, range).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Maximum compression ratio of deflate, which encodes 258 bytes in at least 2 bits.
const MAX_DEFLATE_RATIO: u64 = 1032;

/// Rejects a member whose declared sizes contradict its compression method, or that is a directory with content.
pub(super) fn sizes(entry: &ZipMember<'_>) -> Result<(), ZipError> {
    let (member, offset) = (|| entry.path.to_owned(), entry.header_offset);
    let (size, actual) = (entry.size, entry.compressed_size);
    let is_directory = entry.is_directory;
    match entry.method {
        ZipMethod::Stored if size > actual => Err(ZipError::TooShort {
            member: member(),
            offset,
            size,
            actual,
        }),
        ZipMethod::Deflate if size > actual.saturating_mul(MAX_DEFLATE_RATIO) => {
            Err(ZipError::Ratio {
                member: member(),
                offset,
                size,
                compressed_size: actual,
                limit: MAX_DEFLATE_RATIO,
            })
        }
        ZipMethod::Stored if size < actual => Err(ZipError::TooLong {
            member: member(),
            offset,
            size,
        }),
        _ if is_directory && size > 0 => Err(ZipError::TooLong {
            member: member(),
            offset,
            size: 0,
        }),
        _ => Ok(()),
    }
}

/// Removes members that have the path and the content of an earlier member. Rejects members that have the path of an
/// earlier member but a different content, and members whose parent directory is a file.
pub(super) fn duplicates<R: ReadAt + ?Sized>(
    base: &R,
    entries: &mut ZipDirectory,
) -> Result<(), ZipError> {
    let order = by_path(entries);
    let mut repeated = Vec::new();
    // Reports the first error in the order of the central directory.
    let mut differing: Option<(usize, ZipError)> = None;
    let mut first: Option<ZipMember<'_>> = None;
    for &index in &order {
        let Some(entry) = entries.get(index as usize) else {
            continue;
        };
        let Some(earlier) = first.filter(|first| first.path == entry.path) else {
            first = Some(entry);
            continue;
        };
        repeated.push(index as usize);
        let is_first = differing
            .as_ref()
            .is_none_or(|(other, _)| (index as usize) < *other);
        if is_first && !is_same(base, &earlier, &entry)? {
            let error = ZipError::DifferingDuplicate {
                member: entry.path.to_owned(),
                first: earlier.header_offset,
                offset: entry.header_offset,
            };
            differing = Some((index as usize, error));
        }
    }
    if let Some((_, error)) = differing {
        return Err(error);
    }
    check_files_as_directories(entries, &order)?;
    drop(order);
    repeated.sort_unstable();
    entries.remove(&repeated);
    Ok(())
}

/// Returns whether two members with the same path have equal contents. CRCs can be forged, so the bytes are compared.
fn is_same<R: ReadAt + ?Sized>(
    base: &R,
    one: &ZipMember<'_>,
    other: &ZipMember<'_>,
) -> Result<bool, ZipError> {
    if (one.is_directory, one.size, one.crc32) != (other.is_directory, other.size, other.crc32) {
        return Ok(false);
    }
    let location = |member: &ZipMember<'_>| {
        let (offset, bytes) = (member.header_offset, member.compressed_size);
        (offset, bytes, member.method)
    };
    if one.is_directory || location(one) == location(other) {
        return Ok(true);
    }
    let (one, other) = (one.to_entry(), other.to_entry());
    let (mut reader, mut other_reader) = (one.open(base)?, other.open(base)?);
    let (mut part, mut other_part) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut left = one.size;
    while left > 0 {
        let count = usize::try_from(left).map_or(part.len(), |left| left.min(part.len()));
        let (Some(part), Some(other_part)) = (part.get_mut(..count), other_part.get_mut(..count))
        else {
            break;
        };
        let read = reader.read_exact(part);
        read.map_err(|error| unreadable(&one, error))?;
        let read = other_reader.read_exact(other_part);
        read.map_err(|error| unreadable(&other, error))?;
        if part != other_part {
            return Ok(false);
        }
        left -= count as u64;
    }
    Ok(true)
}

/// Recovers the [`ZipError`] in an error of a [`MemberReader`](super::MemberReader).
fn unreadable(entry: &ZipEntry, error: io::Error) -> ZipError {
    error.downcast().unwrap_or_else(|source| ZipError::Io {
        offset: entry.header_offset,
        source,
    })
}

/// Returns the indices of the members, sorted by path. Equal paths are in the order of the central directory.
fn by_path(entries: &ZipDirectory) -> Vec<u32> {
    let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    let mut order: Vec<u32> = (0..count).collect();
    let path = |index: &u32| entries.get(*index as usize).map(|entry| entry.path);
    // The sort is stable, because stable sorts are fast for nearly sorted input, and archives are nearly sorted.
    order.sort_by(|a, b| path(a).cmp(&path(b)));
    order
}

/// Rejects a member whose parent directory is a file, in one pass over the sorted paths.
///
/// Paths below `x` begin with `x/`. Other paths, such as `x-1`, may sort between `x` and `x/`. Therefore the stack `open`
/// contains all files whose path is a prefix of the current path.
fn check_files_as_directories(entries: &ZipDirectory, order: &[u32]) -> Result<(), ZipError> {
    let mut open: Vec<&str> = Vec::new();
    let mut first: Option<(u32, &str)> = None;
    for &index in order {
        let Some(entry) = entries.get(index as usize) else {
            continue;
        };
        while open.pop_if(|file| !entry.path.starts_with(*file)).is_some() {}
        let is_inside = |file: &&&str| entry.path.as_bytes().get(file.len()) == Some(&b'/');
        if let Some(file) = open.iter().rev().find(is_inside)
            && first.is_none_or(|(other, _)| index < other)
        {
            first = Some((index, file));
        }
        // A duplicate path is not pushed again. Otherwise the stack could contain all members of the archive.
        if !entry.is_directory && open.last() != Some(&entry.path) {
            open.push(entry.path);
        }
    }
    match first.and_then(|(index, file)| Some((entries.get(index as usize)?, file))) {
        None => Ok(()),
        Some((entry, file)) => Err(ZipError::FileAsDirectory {
            member: entry.path.to_owned(),
            offset: entry.header_offset,
            file: file.to_owned(),
        }),
    }
}

/// Sets the `limit` of each member: the offset of the next member or of the central directory.
///
/// Rejects a member if the fixed-length part of its header and its data extend beyond the limit. The part of variable
/// length is checked when the member is opened.
pub(super) fn overlaps(entries: &mut ZipDirectory, directory: u64) -> Result<(), ZipError> {
    let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    let mut order: Vec<u32> = (0..count).collect();
    let offset = |index: &u32| {
        let entry = entries.get(*index as usize);
        entry.map_or(0, |entry| entry.header_offset)
    };
    order.sort_by_key(|index| (offset(index), *index));
    let mut next = directory;
    for index in order.into_iter().rev() {
        let Some(entry) = entries.get(index as usize) else {
            continue;
        };
        let offset = entry.header_offset;
        let end = offset
            .saturating_add(LOCAL_HEADER_BYTES as u64)
            .saturating_add(entry.compressed_size);
        if end > next {
            return Err(ZipError::Overlap {
                member: entry.path.to_owned(),
                offset,
                next,
            });
        }
        entries.set_limit(index as usize, next);
        next = offset;
    }
    Ok(())
}
