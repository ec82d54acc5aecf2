//! Reads the records of an archive that may be damaged or unsafe, for an audit that reports what is wrong with it.

use std::io::{self, BufReader, Read};
use std::ops::Range;

use super::error::ZipError;
use super::list::Records;
use super::member::{LOCAL_HEADER_BYTES, u16_at};
use super::read::DeflateReader;
use crate::limits::ArchiveBudget;
use crate::read_at::{ByteSection, ReadAt};
use prep_failure::Quoted;

/// Size in bytes of the buffer for the content of a member.
const BUFFER_BYTES: usize = 1 << 18;

/// A record of the central directory, as it is. Names may be unsafe or occur repeatedly.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RawMember {
    /// The name, in which bytes that are not UTF-8 are replaced.
    pub name: String,
    /// Uncompressed size in bytes.
    pub size: u64,
    /// CRC-32 of the content.
    pub crc: u32,
    /// Compressed size in bytes.
    pub compressed: u64,
    /// Offset of the local record in the base file.
    pub offset: u64,
    /// Compression method: 0 is stored, 8 is deflate.
    pub method: u16,
}

/// The records of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawListing {
    /// The records, in the order of the central directory.
    pub members: Vec<RawMember>,
    /// Number of bytes after the end record and its comment.
    pub trailing_bytes: u64,
}

/// Lists the records of the archive in the range `range` of `base`. Unlike [`ZipDirectory`](super::ZipDirectory), accepts
/// unsafe and duplicate names, unsupported methods, and sizes that contradict each other.
///
/// # Errors
/// [`ZipError::Truncated`] or [`ZipError::NotAZip`] without an end record; [`ZipError::DamagedDirectory`] if records are
/// damaged or missing; [`ZipError::Limit`]; [`ZipError::Io`].
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
        // Sizes are not counted, because they may be damaged.
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
    match listed {
        Ok(count) if records.may_have(count) => Ok(RawListing {
            trailing_bytes: end.saturating_sub(records.end()),
            members,
        }),
        Ok(_) | Err(ZipError::DamagedDirectory { .. }) => Err(ZipError::DamagedDirectory {
            offset: reached,
            reason: format!(
                "the end record counts {declared} members, but {} are listed up to byte {reached}",
                members.len()
            ),
        }),
        Err(error) => Err(error),
    }
}

/// Length in bytes of a record of the central directory without its name, extra fields and comment.
const RECORD_BYTES: u64 = 46;

impl RawMember {
    /// Whether it is a directory. Some Windows programs write backslashes.
    pub fn is_directory(&self) -> bool {
        self.name.ends_with('/') || (self.name.ends_with('\\') && self.size == 0)
    }

    /// Returns the offset of the member's data. The inner `Err` describes a contradiction between the member's local
    /// record and the central directory.
    ///
    /// # Errors
    /// If the base file cannot be read.
    pub fn data_offset(&self, base: &impl ReadAt) -> io::Result<Result<u64, String>> {
        let offset = self.offset;
        let missing = || Ok(Err(format!("there is no member record at byte {offset}")));
        let end = offset.checked_add(1 << 18);
        // Reading beyond `i64::MAX` would be a system error, but no file is that long.
        if end.is_none_or(|end| end > i64::MAX.unsigned_abs()) {
            return missing();
        }
        let head = read_up_to(base, offset, LOCAL_HEADER_BYTES as u64)?;
        if !head.starts_with(b"PK\x03\x04") {
            return missing();
        }
        let (name_bytes, extra_bytes) = (u16_at(&head, 26), u16_at(&head, 28));
        let name_offset = offset + LOCAL_HEADER_BYTES as u64;
        let name = &read_up_to(base, name_offset, u64::from(name_bytes))?;
        let found = String::from_utf8_lossy(name);
        if found != self.name && name.is_ascii() {
            let found = Quoted(&found);
            return Ok(Err(format!(
                "the record at byte {offset} is that of {found}"
            )));
        }
        Ok(Ok(name_offset
            + u64::from(name_bytes)
            + u64::from(extra_bytes)))
    }

    /// Returns the content of the member, whose data begin at `begin`. `None` for an unsupported method. Neither size nor
    /// CRC are verified.
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

/// Reads up to `length` bytes at `offset`.
fn read_up_to(base: &impl ReadAt, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let range = offset..offset.saturating_add(length);
    ByteSection::new(base, range).read_to_end(&mut bytes)?;
    Ok(bytes)
}
