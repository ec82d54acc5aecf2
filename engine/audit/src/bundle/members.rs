//! Reads the list of members from the central directory of a zip archive. Unlike `prep_formats::zip`, which preparation
//! uses, it accepts duplicate names, backslashes, and contradicting records, because an audit must report them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use prep_contents::read::each_chunk;
use prep_contents::{ContentsError, DecodingLimits};
use prep_failure::Quoted;
use prep_formats::limits::{Limit, LimitExceeded};

/// A member as the central directory of the archive describes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BundleMember {
    pub name: String,
    pub size: u64,
    pub crc: u32,
    /// Compressed length in bytes.
    pub compressed: u64,
    /// Offset of the member's local record.
    pub offset: u64,
    /// Compression method: 0 is stored, 8 is deflate.
    pub method: u16,
}

impl BundleMember {
    pub fn is_directory(&self) -> bool {
        self.name.ends_with('/') || (self.name.ends_with('\\') && self.size == 0)
    }

    /// Returns name, length and CRC-32. Members that agree in these are treated as equal.
    pub fn content(&self) -> (&str, u64, u32) {
        (&self.name, self.size, self.crc)
    }
}

/// The error if the list of members cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum MemberListError {
    #[error("the archive has no end record")]
    NoEnd,
    #[error("the archive's directory is damaged: {0}")]
    Damaged(String),
    #[error("{0}")]
    Limit(#[from] LimitExceeded),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<MemberListError> for ContentsError {
    fn from(error: MemberListError) -> Self {
        ContentsError::classify(error)
    }
}

const END_SIGNATURE: &[u8] = b"PK\x05\x06";
const ZIP64_END_SIGNATURE: &[u8] = b"PK\x06\x06";
const ENTRY_SIGNATURE: &[u8] = b"PK\x01\x02";
/// Length of an end record without a comment, in bytes.
const END_BYTES: usize = 22;
/// Maximum length of an end record with its comment and the zip64 locator before it, in bytes.
const MAX_END_BYTES: u64 = END_BYTES as u64 + 0xffff + 20;

/// Reads the list of members of an intact archive.
///
/// # Errors
/// If the file cannot be read, or is not an archive.
pub fn of_file(path: &Path, limits: &DecodingLimits) -> Result<Vec<BundleMember>, ContentsError> {
    let file = File::open(path).map_err(ContentsError::system_error(path))?;
    Ok(read(&file, limits)?)
}

/// Returns the number of bytes after the end record and its comment.
///
/// # Errors
/// If the file cannot be read, or has no end record.
pub fn tail(file: &File) -> Result<u64, MemberListError> {
    let length = file.metadata()?.len();
    let tail = read_at(file, length.saturating_sub(MAX_END_BYTES), MAX_END_BYTES)?;
    let place = memchr::memmem::rfind(&tail, END_SIGNATURE).ok_or(MemberListError::NoEnd)?;
    let end = tail.get(place..).unwrap_or_default();
    let comment = usize::from(u16_at(end, 20));
    Ok(end.len().saturating_sub(END_BYTES + comment) as u64)
}

/// Reads the list of members.
///
/// # Errors
/// If the file cannot be read, has no end record, or its central directory is damaged or exceeds a limit.
pub fn read(file: &File, limits: &DecodingLimits) -> Result<Vec<BundleMember>, MemberListError> {
    let length = file.metadata()?.len();
    let tail = read_at(file, length.saturating_sub(MAX_END_BYTES), MAX_END_BYTES)?;
    let place = memchr::memmem::rfind(&tail, END_SIGNATURE).ok_or(MemberListError::NoEnd)?;
    let end = tail.get(place..).unwrap_or_default();
    // The archive may end within its last record.
    let comment = usize::from(u16_at(end, 20));
    if end.len() < END_BYTES + comment {
        return Err(MemberListError::NoEnd);
    }
    let end_offset = length.saturating_sub(MAX_END_BYTES) + place as u64;
    let mut count = u64::from(u16_at(end, 10));
    let mut size = u64::from(u32_at(end, 12));
    let mut begin = u64::from(u32_at(end, 16));
    let mut before = end_offset;
    if (begin == 0xffff_ffff || count == 0xffff || size == 0xffff_ffff)
        && let Some(found) =
            memchr::memmem::rfind(tail.get(..place).unwrap_or_default(), ZIP64_END_SIGNATURE)
    {
        let wide = tail.get(found..).unwrap_or_default();
        count = u64_at(wide, 32);
        size = u64_at(wide, 40);
        begin = u64_at(wide, 48);
        before = length.saturating_sub(MAX_END_BYTES) + found as u64;
    }
    // Bytes before the archive shift all offsets.
    let shift = before
        .checked_sub(size)
        .and_then(|end| end.checked_sub(begin));
    let shift = shift.ok_or_else(|| {
        MemberListError::Damaged(format!(
            "according to the end record, it begins at byte {begin} and has {size} bytes"
        ))
    })?;
    if size > length {
        return Err(MemberListError::Damaged(format!(
            "according to the end record, it has {size} bytes, but the archive has {length} bytes"
        )));
    }
    limits.check(Limit::Record, size)?;
    let directory = read_at(file, begin + shift, size)?;
    let mut members = Vec::new();
    let mut rest = directory.as_slice();
    while rest.starts_with(ENTRY_SIGNATURE) && rest.len() >= 46 {
        let (name_length, extra, comment) = (u16_at(rest, 28), u16_at(rest, 30), u16_at(rest, 32));
        let name_end = 46 + usize::from(name_length);
        let extra_end = name_end + usize::from(extra);
        let name = rest.get(46..name_end).unwrap_or_default();
        // Names are only compared with each other. So a wrongly decoded name does no harm, because it is always decoded
        // in the same way.
        let name = String::from_utf8_lossy(name).into_owned();
        let mut member = BundleMember {
            name,
            size: u64::from(u32_at(rest, 24)),
            crc: u32_at(rest, 16),
            compressed: u64::from(u32_at(rest, 20)),
            offset: u64::from(u32_at(rest, 42)),
            method: u16_at(rest, 10),
        };
        wide_fields(
            rest.get(name_end..extra_end).unwrap_or_default(),
            &mut member,
        );
        member.offset = member.offset.saturating_add(shift);
        members.push(member);
        rest = rest
            .get(extra_end + usize::from(comment)..)
            .unwrap_or_default();
    }
    if members.len() as u64 % 0x1_0000 != count % 0x1_0000 || !rest.is_empty() {
        let place = begin + shift + (directory.len() - rest.len()) as u64;
        return Err(MemberListError::Damaged(format!(
            "the end record counts {count} members, but {} are listed up to byte {place}",
            members.len()
        )));
    }
    Ok(members)
}

/// Replaces sizes and offsets with those of the zip64 extra field if they need more than 32 bits.
fn wide_fields(mut extra: &[u8], member: &mut BundleMember) {
    while extra.len() >= 4 {
        let (id, length) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let mut content = extra.get(4..4 + length).unwrap_or_default();
        if id == 1 {
            for field in [&mut member.size, &mut member.compressed, &mut member.offset] {
                if *field == 0xffff_ffff && content.len() >= 8 {
                    *field = u64_at(content, 0);
                    content = content.get(8..).unwrap_or_default();
                }
            }
        }
        extra = extra.get(4 + length..).unwrap_or_default();
    }
}

/// Returns the offset of the member's data. The inner `Err` describes a contradiction between the member's local record
/// and the central directory.
pub(super) fn data_offset(file: &File, member: &BundleMember) -> io::Result<Result<u64, String>> {
    let missing = || {
        Ok(Err(format!(
            "there is no member record at byte {}",
            member.offset
        )))
    };
    // Seeking beyond `i64::MAX` would be a system error, but no file is that long.
    let Some(begin) = member.offset.checked_add(30 + 2 * 0xffff) else {
        return missing();
    };
    if begin > i64::MAX.unsigned_abs() {
        return missing();
    }
    let head = read_at(file, member.offset, 30)?;
    if !head.starts_with(b"PK\x03\x04") {
        return missing();
    }
    let name_length = u16_at(&head, 26);
    let name = read_at(file, member.offset + 30, u64::from(name_length))?;
    let own = String::from_utf8_lossy(&name).into_owned();
    if own != member.name && name.is_ascii() {
        return Ok(Err(format!(
            "the record at byte {} is that of {}",
            member.offset,
            Quoted(&own)
        )));
    }
    let begin = member.offset + 30 + u64::from(name_length) + u64::from(u16_at(&head, 28));
    Ok(Ok(begin))
}

/// Reads up to `length` bytes at `offset`.
pub(super) fn read_at(mut file: &File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    let bytes = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Length, CRC-32 and MD5 of a member's unpacked content.
pub(super) struct Content {
    pub size: u64,
    pub crc: u32,
    pub md5: String,
}

/// Unpacks a member, whose data begin at `begin`, and computes length, CRC-32 and MD5 of its content.
///
/// # Errors
/// [`ContentsError::Damaged`] if the member cannot be unpacked.
pub(super) fn content(
    file: &File,
    member: &BundleMember,
    begin: u64,
) -> Result<Content, ContentsError> {
    use md5::Digest as _;
    let (mut crc, mut md5) = (crc32fast::Hasher::new(), md5::Md5::new());
    let size = unpack(file, member, begin, &mut |bytes| {
        crc.update(bytes);
        md5.update(bytes);
    })?;
    Ok(Content {
        size,
        crc: crc.finalize(),
        md5: crate::read::hex(md5),
    })
}

/// Returns the length and the CRC-32 of a member's content with LF instead of CR LF.
///
/// # Errors
/// [`ContentsError::Damaged`] if the member cannot be unpacked.
pub(super) fn content_with_lf(
    file: &File,
    member: &BundleMember,
    begin: u64,
) -> Result<(u64, u32), ContentsError> {
    let (mut crc, mut size, mut is_after_cr) = (crc32fast::Hasher::new(), 0_u64, false);
    let mut line = Vec::new();
    unpack(file, member, begin, &mut |bytes| {
        line.clear();
        for byte in bytes {
            if is_after_cr && *byte != b'\n' {
                line.push(b'\r');
            }
            is_after_cr = *byte == b'\r';
            if !is_after_cr {
                line.push(*byte);
            }
        }
        crc.update(&line);
        size += line.len() as u64;
    })?;
    if is_after_cr {
        crc.update(b"\r");
        size += 1;
    }
    Ok((size, crc.finalize()))
}

/// Unpacks a member and passes its content on. Returns the length of the content.
fn unpack(
    file: &File,
    member: &BundleMember,
    begin: u64,
    visit: &mut dyn FnMut(&[u8]),
) -> Result<u64, ContentsError> {
    let mut raw = file.try_clone()?;
    raw.seek(SeekFrom::Start(begin))?;
    let raw = io::BufReader::with_capacity(1 << 18, raw.take(member.compressed));
    let mut input: Box<dyn Read> = match member.method {
        0 => Box::new(raw),
        8 => Box::new(flate2::bufread::DeflateDecoder::new(raw)),
        other => {
            let reason = format!("compression method {other} is not supported");
            return Err(ContentsError::Damaged(reason));
        }
    };
    Ok(each_chunk(&mut input, visit)?)
}
