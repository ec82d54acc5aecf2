//! Reads the members of a zip archive from its directory. Unlike the reader of preparations, this one accepts duplicate names,
//! backslashes, and contradicting records, because an audit must report them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use prep_contents::read::each_chunk;
use prep_contents::{ContentsError, DecodingLimits};
use prep_failure::Quoted;
use prep_formats::limits::{Limit, LimitExceeded};

/// A member as the directory of the archive describes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BundleMember {
    pub name: String,
    pub size: u64,
    pub crc: u32,
    /// Compressed length, offset of the record, and compression method.
    pub compressed: u64,
    pub offset: u64,
    pub method: u16,
}

impl BundleMember {
    pub fn is_folder(&self) -> bool {
        self.name.ends_with('/') || (self.name.ends_with('\\') && self.size == 0)
    }

    /// Returns name, length and CRC-32. Members that agree in these are treated as equal.
    pub fn content(&self) -> (&str, u64, u32) {
        (&self.name, self.size, self.crc)
    }
}

/// The reason why the list of members cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum NoList {
    #[error("the archive has no end record")]
    NoEnd,
    #[error("the archive's directory is damaged: {0}")]
    Damaged(String),
    #[error("{0}")]
    Limit(#[from] LimitExceeded),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<NoList> for ContentsError {
    fn from(error: NoList) -> Self {
        ContentsError::classify(error)
    }
}

const END: &[u8] = b"PK\x05\x06";
const END_64: &[u8] = b"PK\x06\x06";
const RECORD: &[u8] = b"PK\x01\x02";
/// Length in bytes of an end record without a comment.
const END_BYTES: usize = 22;
/// Maximum length in bytes of an end record with its comment, and of the zip64 locator before it.
const END_LENGTH: u64 = END_BYTES as u64 + 0xffff + 20;

/// Reads the list of a sound archive.
///
/// # Errors
/// When the file cannot be read, or is not an archive.
pub fn of_file(path: &Path, limits: &DecodingLimits) -> Result<Vec<BundleMember>, ContentsError> {
    let file = File::open(path).map_err(ContentsError::system_error(path))?;
    Ok(read(&file, limits)?)
}

/// Returns the number of bytes after the end record and its comment.
///
/// # Errors
/// [`NoList`].
pub fn tail(file: &File) -> Result<u64, NoList> {
    let length = file.metadata()?.len();
    let tail = read_at(file, length.saturating_sub(END_LENGTH), END_LENGTH)?;
    let place = memchr::memmem::rfind(&tail, END).ok_or(NoList::NoEnd)?;
    let end = tail.get(place..).unwrap_or_default();
    let comment = usize::from(u16_at(end, 20));
    Ok(end.len().saturating_sub(END_BYTES + comment) as u64)
}

/// # Errors
/// [`NoList`].
pub fn read(file: &File, limits: &DecodingLimits) -> Result<Vec<BundleMember>, NoList> {
    let length = file.metadata()?.len();
    let tail = read_at(file, length.saturating_sub(END_LENGTH), END_LENGTH)?;
    let place = memchr::memmem::rfind(&tail, END).ok_or(NoList::NoEnd)?;
    let end = tail.get(place..).unwrap_or_default();
    // The archive may end within its last record.
    let comment = usize::from(u16_at(end, 20));
    if end.len() < END_BYTES + comment {
        return Err(NoList::NoEnd);
    }
    let end_offset = length.saturating_sub(END_LENGTH) + place as u64;
    let mut count = u64::from(u16_at(end, 10));
    let mut size = u64::from(u32_at(end, 12));
    let mut begin = u64::from(u32_at(end, 16));
    let mut before = end_offset;
    if (begin == 0xffff_ffff || count == 0xffff || size == 0xffff_ffff)
        && let Some(found) = memchr::memmem::rfind(tail.get(..place).unwrap_or_default(), END_64)
    {
        let wide = tail.get(found..).unwrap_or_default();
        count = u64_at(wide, 32);
        size = u64_at(wide, 40);
        begin = u64_at(wide, 48);
        before = length.saturating_sub(END_LENGTH) + found as u64;
    }
    // Bytes before the archive shift all offsets.
    let shift = before
        .checked_sub(size)
        .and_then(|there| there.checked_sub(begin));
    let shift = shift.ok_or_else(|| {
        NoList::Damaged(format!(
            "it should begin at byte {begin} and take {size} bytes"
        ))
    })?;
    if size > length {
        return Err(NoList::Damaged(format!(
            "it would take {size} of {length} bytes"
        )));
    }
    limits.check(Limit::Record, size)?;
    let directory = read_at(file, begin + shift, size)?;
    let mut members = Vec::new();
    let mut rest = directory.as_slice();
    while rest.starts_with(RECORD) && rest.len() >= 46 {
        let (name_length, extra, comment) = (u16_at(rest, 28), u16_at(rest, 30), u16_at(rest, 32));
        let name_end = 46 + usize::from(name_length);
        let extra_end = name_end + usize::from(extra);
        let name = rest.get(46..name_end).unwrap_or_default();
        // Names are only compared with each other. So a name in another encoding may be decoded wrongly, if always in the same
        // way.
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
        return Err(NoList::Damaged(format!(
            "{count} members should be listed, {} are, up to byte {place}",
            members.len()
        )));
    }
    Ok(members)
}

/// Replaces sizes and offsets by those in the zip64 extra field, which has values of more than 32 bits.
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

/// Returns the offset of the member's bytes, or the contradiction between its own record and the directory.
pub(super) fn data_offset(file: &File, member: &BundleMember) -> io::Result<Result<u64, String>> {
    let missing = || {
        Ok(Err(format!(
            "no record of a member at byte {}",
            member.offset
        )))
    };
    // No file is longer than this. Reading at a later position is an error of the system.
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
            "at byte {} is the record of {}",
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

/// Computes length, CRC-32 and MD5 of a member's content.
pub(super) struct Content {
    pub size: u64,
    pub crc: u32,
    pub md5: String,
}

/// # Errors
/// [`ContentsError::Damaged`] when it cannot be unpacked.
pub(super) fn content(
    file: &File,
    member: &BundleMember,
    begin: u64,
) -> Result<Content, ContentsError> {
    use md5::Digest as _;
    let mut raw = file.try_clone()?;
    raw.seek(SeekFrom::Start(begin))?;
    let raw = io::BufReader::with_capacity(1 << 18, raw.take(member.compressed));
    let mut input: Box<dyn Read> = match member.method {
        0 => Box::new(raw),
        8 => Box::new(flate2::bufread::DeflateDecoder::new(raw)),
        other => {
            let reason = format!("compression method {other} is not known");
            return Err(ContentsError::Damaged(reason));
        }
    };
    let (mut crc, mut md5) = (crc32fast::Hasher::new(), md5::Md5::new());
    let size = each_chunk(&mut input, |bytes| {
        crc.update(bytes);
        md5.update(bytes);
    })?;
    Ok(Content {
        size,
        crc: crc.finalize(),
        md5: crate::read::hex(md5),
    })
}
