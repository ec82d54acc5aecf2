//! The members of an archive, and their local headers, which are compared with the central directory.

use std::ops::Range;

use super::error::ZipError;
use crate::archive::member::StoredForm;
use crate::paths;
use crate::read_at::ReadAt;
use prep_failure::Quoted;

/// The compression method of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ZipMethod {
    /// Uncompressed.
    Stored,
    /// Raw deflate (RFC 1951).
    Deflate,
}

/// A member as the central directory describes it.
pub type ZipEntry = ZipRecord<String>;

/// A [`ZipEntry`] whose path is borrowed from a [`ZipDirectory`].
pub type ZipMember<'a> = ZipRecord<&'a str>;

/// A member as the central directory describes it, with a path of type `P`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZipRecord<P> {
    /// Normalized path (see [`crate::paths::normalize`]), without a trailing `/`.
    pub path: P,
    /// Whether the member is a directory. Its name in the archive ends with `/` if it is.
    pub is_directory: bool,
    /// The compression method.
    pub method: ZipMethod,
    /// Offset in bytes of the local header in the file that contains the archive.
    pub header_offset: u64,
    /// Upper bound for the end of the member's data: the offset of the next member or of the central directory.
    pub limit: u64,
    /// Compressed size in bytes.
    pub compressed_size: u64,
    /// Uncompressed size in bytes.
    pub size: u64,
    /// CRC-32 (ISO-HDLC) of the content.
    pub crc32: u32,
}

impl<P> ZipRecord<P> {
    pub(super) fn with_path<Q>(&self, path: Q) -> ZipRecord<Q> {
        ZipRecord {
            path,
            is_directory: self.is_directory,
            method: self.method,
            header_offset: self.header_offset,
            limit: self.limit,
            compressed_size: self.compressed_size,
            size: self.size,
            crc32: self.crc32,
        }
    }
}

impl ZipMember<'_> {
    /// Converts to a [`ZipEntry`], which does not borrow from the directory.
    pub fn to_entry(&self) -> ZipEntry {
        self.with_path(self.path.to_owned())
    }
}

impl ZipEntry {
    /// Returns the range of `base` that contains the content. Returns `None` if the member is compressed.
    pub fn section<R: ReadAt + ?Sized>(&self, base: &R) -> Result<Option<Range<u64>>, ZipError> {
        match self.method {
            ZipMethod::Stored => self.locate(base).map(Some),
            ZipMethod::Deflate => Ok(None),
        }
    }
}

/// Number of bits that store the length of a name. A name in an archive has at most 65,535 bytes. Its conversion to UTF-8
/// has at most three times as many bytes, which is below 2^20.
const LENGTH_BITS: u32 = 20;

/// The members of an archive, for archives with millions of members. Each member takes about 50 bytes plus its name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ZipDirectory {
    /// The paths of all members, one after the other.
    names: String,
    members: Vec<ZipRecord<NameRange>>,
    /// How each member is stored. Empty if the directory was read with `StoredForms::Skip`.
    forms: Vec<StoredForm>,
}

/// The offset of a name in [`ZipDirectory::names`], shifted by [`LENGTH_BITS`], and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NameRange(u64);

impl ZipDirectory {
    pub(super) fn reserve(&mut self, members: usize) {
        self.members.reserve(members);
    }

    /// Appends a member.
    pub(super) fn push(&mut self, entry: &ZipMember<'_>, form: Option<StoredForm>) {
        self.forms.extend(form);
        let name = (self.names.len() as u64) << LENGTH_BITS | entry.path.len() as u64;
        self.names.push_str(entry.path);
        self.members.push(entry.with_path(NameRange(name)));
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns whether the archive has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns a member by its index in the central directory.
    pub fn get(&self, index: usize) -> Option<ZipMember<'_>> {
        let packed = self.members.get(index)?;
        Some(packed.with_path(self.path(packed.path)))
    }

    /// Iterates over the members in the order of the central directory.
    pub fn iter(&self) -> impl Iterator<Item = ZipMember<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Returns all members. For millions of members, use [`iter`](Self::iter).
    pub fn entries(&self) -> Vec<ZipEntry> {
        self.iter().map(|member| member.to_entry()).collect()
    }

    /// Returns how the member with this index is stored, or `None` if the directory was read with `StoredForms::Skip`.
    pub fn form(&self, index: usize) -> Option<&StoredForm> {
        self.forms.get(index)
    }

    pub(super) fn set_limit(&mut self, index: usize, limit: u64) {
        if let Some(packed) = self.members.get_mut(index) {
            packed.limit = limit;
        }
    }

    /// Removes the members with these indices, which must be ascending. Their names stay in memory.
    pub(super) fn remove(&mut self, indices: &[usize]) {
        remove(&mut self.members, indices);
        remove(&mut self.forms, indices);
    }

    fn path(&self, NameRange(name): NameRange) -> &str {
        let start = usize::try_from(name >> LENGTH_BITS).unwrap_or(usize::MAX);
        let length = usize::try_from(name & ((1 << LENGTH_BITS) - 1)).unwrap_or(0);
        self.names
            .get(start..start.saturating_add(length))
            .unwrap_or_default()
    }
}

/// Removes the values with these indices, which must be ascending.
fn remove<T>(values: &mut Vec<T>, indices: &[usize]) {
    let mut indices = indices.iter().peekable();
    let mut index = 0;
    values.retain(|_| {
        let drop = indices.next_if(|removed| **removed == index).is_some();
        index += 1;
        !drop
    });
}

/// Length in bytes of a local header without its name and extra fields.
///
/// Offsets of its fields: 6 flags, 8 method, 14 CRC-32, 18 compressed size, 22 size, 26 length of the name, 28 length of the
/// extra fields.
pub(super) const LOCAL_HEADER_BYTES: usize = 30;
/// Flag: sizes and CRC follow the data, and are zero in the header.
const DATA_DESCRIPTOR: u16 = 1 << 3;
/// Flag: the name is UTF-8.
const UTF8: u16 = 1 << 11;

impl ZipEntry {
    /// Returns the range of `base` that contains the compressed data of the member.
    ///
    /// # Errors
    /// [`ZipError::HeaderMismatch`] if the local header differs from the directory, [`ZipError::Overlap`] if the data extend
    /// into the next member, or [`ZipError::Io`].
    pub fn locate<R: ReadAt + ?Sized>(&self, base: &R) -> Result<Range<u64>, ZipError> {
        let mut buffer = vec![0; LOCAL_HEADER_BYTES + self.path.len() + 64];
        let room =
            usize::try_from(self.limit.saturating_sub(self.header_offset)).unwrap_or(usize::MAX);
        buffer.truncate(room);
        self.read_at(base, &mut buffer, 0)?;
        let needed = self.header_length(&buffer)?;
        let known = buffer.len();
        if needed > known {
            buffer.resize(needed, 0);
            self.read_at(
                base,
                buffer.get_mut(known..).unwrap_or_default(),
                known as u64,
            )?;
        }
        self.check_header(&buffer)
    }

    /// Fills `buffer`. Reads from `skip` bytes after the beginning of the member's local header.
    pub(super) fn read_at<R: ReadAt + ?Sized>(
        &self,
        base: &R,
        buffer: &mut [u8],
        skip: u64,
    ) -> Result<(), ZipError> {
        let offset = self.header_offset.saturating_add(skip);
        base.read_exact_at(buffer, offset)
            .map_err(|source| ZipError::Io { offset, source })
    }

    /// Returns the length in bytes of the local header at the beginning of `record`, with its name and extra fields.
    pub(super) fn header_length(&self, record: &[u8]) -> Result<usize, ZipError> {
        if !record.starts_with(b"PK\x03\x04") {
            return Err(ZipError::NoHeader {
                member: self.path.clone(),
                offset: self.header_offset,
                found: record.get(..4).unwrap_or(record).to_vec(),
            });
        }
        Ok(LOCAL_HEADER_BYTES + usize::from(u16_at(record, 26)) + usize::from(u16_at(record, 28)))
    }

    /// Compares the local header at the beginning of `record` with the central directory. Returns the range of the data.
    pub(super) fn check_header(&self, record: &[u8]) -> Result<Range<u64>, ZipError> {
        let flags = u16_at(record, 6);
        let name_end = LOCAL_HEADER_BYTES + usize::from(u16_at(record, 26));
        let header_end = self.header_length(record)?;
        let raw_name = record.get(LOCAL_HEADER_BYTES..name_end).unwrap_or_default();
        let name = decode_name(raw_name, flags & UTF8 != 0).unwrap_or_default();
        if paths::normalize(&name).as_ref() != Ok(&self.path) {
            return Err(self.mismatch(
                "the name",
                Quoted(&name).to_string(),
                Quoted(&self.path).to_string(),
            ));
        }
        if flags & 1 != 0 {
            return Err(ZipError::Encrypted {
                member: self.path.clone(),
                offset: self.header_offset,
            });
        }
        let method = u16_at(record, 8);
        let central = match self.method {
            ZipMethod::Stored => 0,
            ZipMethod::Deflate => 8,
        };
        self.agree("the method", u64::from(method), central)?;
        self.check_sizes(
            record,
            flags,
            record.get(name_end..header_end).unwrap_or_default(),
        )?;
        let start = self.header_offset + header_end as u64;
        let end = start.saturating_add(self.compressed_size);
        if end > self.limit {
            return Err(ZipError::Overlap {
                member: self.path.clone(),
                offset: self.header_offset,
                next: self.limit,
            });
        }
        Ok(start..end)
    }

    /// Compares CRC and sizes in the local header with the central directory. `extra` contains the header's extra fields.
    fn check_sizes(&self, record: &[u8], flags: u16, extra: &[u8]) -> Result<(), ZipError> {
        let crc = u64::from(u32_at(record, 14));
        let sizes = [u32_at(record, 22), u32_at(record, 18)];
        let mut wide = zip64(extra).chunks_exact(8);
        // The extra field contains only the sizes that do not fit into 32 bits, in the order of `sizes`.
        let [size, compressed] = sizes.map(|size| match size {
            u32::MAX => wide.next().map_or(u64::from(u32::MAX), u64_of),
            small => u64::from(small),
        });
        let fields = [
            ("the CRC", crc, u64::from(self.crc32)),
            ("the size", size, self.size),
            ("the compressed size", compressed, self.compressed_size),
        ];
        for (field, local, central) in fields {
            let unknown =
                flags & DATA_DESCRIPTOR != 0 && (local == 0 || local == u64::from(u32::MAX));
            if !unknown {
                self.agree(field, local, central)?;
            }
        }
        Ok(())
    }

    /// Rejects a field whose values in the local header and in the central directory differ.
    fn agree(&self, field: &'static str, local: u64, central: u64) -> Result<(), ZipError> {
        if local == central {
            return Ok(());
        }
        Err(self.mismatch(field, local.to_string(), central.to_string()))
    }

    fn mismatch(&self, field: &'static str, local: String, central: String) -> ZipError {
        let (member, offset) = (self.path.clone(), self.header_offset);
        ZipError::HeaderMismatch {
            member,
            offset,
            field,
            local,
            central,
        }
    }
}

/// Returns the content of the extra field that zip64 uses for long sizes, or no bytes if it is not present.
fn zip64(mut extra: &[u8]) -> &[u8] {
    while let Some((head, rest)) = extra.split_at_checked(4) {
        let length = usize::from(u16_at(head, 2)).min(rest.len());
        let (field, next) = rest.split_at(length);
        if u16_at(head, 0) == 1 {
            return field;
        }
        extra = next;
    }
    &[]
}

/// Returns the little-endian integer at offset `at`, or 0 if `bytes` ends before it.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes
        .get(at..at + 2)
        .map_or(0, |two| u16::try_from(u64_of(two)).unwrap_or(0))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .map_or(0, |four| u32::try_from(u64_of(four)).unwrap_or(0))
}

fn u64_of(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The characters 0x80 to 0xff of code page 437, the encoding of names without the UTF-8 flag.
const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

fn decode_cp437(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|byte| match byte.checked_sub(0x80) {
            None => char::from(*byte),
            Some(index) => CP437
                .chars()
                .nth(usize::from(index))
                .unwrap_or(char::REPLACEMENT_CHARACTER),
        })
        .collect()
}

/// Decodes a name like Python 3.11's `zipfile`. Returns `None` if the flag is set and the name is not UTF-8.
pub(super) fn decode_name(raw: &[u8], is_utf8: bool) -> Option<String> {
    if is_utf8 || raw.is_ascii() {
        return std::str::from_utf8(raw).ok().map(str::to_owned);
    }
    Some(decode_cp437(raw))
}
