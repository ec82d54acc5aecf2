//! Reads 7z archives, sequentially or in [parts](SevenZPart), and writes them deterministically.
//!
//! - A solid archive stores many members in one block. To read a member, all earlier members in the block must be decoded.
//! - A part begins where a compressed stream resets its dictionary, so parts can be decoded in parallel.
//! - The codec allocates more than a hundred bytes for each entry that the archive header declares. Therefore
//!   `packed_header` determines the uncompressed size of the archive header before the codec unpacks the header.
//!
//! Source: `7zFormat.txt` of the LZMA SDK.

mod parts;
mod write;

use std::io;
use std::io::{Read, Seek, SeekFrom};

use parts::{damaged, failed};
use sevenz_rust2::{ArchiveEntry, ArchiveReader, Error, Password};
use write::UNIX_EXTENSION;

use crate::archive::member::{ArchiveError, Member, VisitMember};
use crate::limits::ArchiveBudget;
use crate::paths;
use crate::paths::PathError;
use crate::read_at::ReadAt;
use crate::sniff::{FileType, SNIFF_BYTES};

pub use parts::{Coder, PartSpans, SevenZPart};
pub use write::SevenZWriter;

/// Windows' attribute of a link.
const REPARSE_POINT: u32 = 0x400;

/// An archive whose list of members has been read.
pub struct SevenZReader<R: Read + Seek> {
    inner: ArchiveReader<R>,
}

impl<R: Read + Seek> SevenZReader<R> {
    /// Reads the list of members and validates their paths.
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
        if let Some(header) = packed_header(&mut input).map_err(damaged)? {
            let checked = budget.check_header(header.packed, header.unpacked);
            checked.map_err(ArchiveError::LongList)?;
        }
        input.rewind().map_err(damaged)?;
        let mut inner = ArchiveReader::new(input, Password::empty()).map_err(failed)?;
        // Several threads would keep an unlimited number of parts in memory. The module `parts` decodes in parallel instead.
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
    pub fn list(&self, visit: &mut dyn FnMut(&Member<'_>)) -> Result<(), ArchiveError> {
        let archive = self.inner.archive();
        let blocks = &archive.stream_map.file_block_index;
        let entries = || archive.files.iter().zip(blocks);
        let with_content = entries().filter(|(_, block)| block.is_some());
        let without_content = entries().filter(|(_, block)| block.is_none());
        let mut offset = 0;
        for (entry, _) in with_content.chain(without_content) {
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

    /// Divides the archive into parts that can be decoded separately. `source` must be the archive of this reader.
    ///
    /// Returns `None` if the archive cannot be divided, for example because it uses filters.
    pub fn parts(&self, source: &impl ReadAt) -> Result<Option<Vec<SevenZPart>>, ArchiveError> {
        parts::parts(self.inner.archive(), source).map_err(damaged)
    }

    /// Visits all members in the order of [`list`](Self::list). Skips content that `visit` does not read.
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

/// Records whether the decoder failed. Without this record, an error of the decoder would look like an error of `visit`.
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

/// Returns the path of an entry, or `None` for the root directory and for entries that mark a deletion.
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
    // The values mean that there is no Unix type, a regular file, or a directory.
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

/// Converts an entry to a member. `offset` is the position of the member's content in the concatenated contents of all
/// members.
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

/// Length in bytes of the signature header: signature, version, and offset of the archive header.
const SIGNATURE_HEADER_BYTES: u64 = 32;
/// At most this number of bytes is read of the description of a compressed archive header. A description usually has a
/// few dozen bytes.
const MAX_DESCRIPTION: u64 = 1 << 16;

// Property numbers of the archive header.
const END: u8 = 0x00;
const PACK_INFO: u8 = 0x06;
const UNPACK_INFO: u8 = 0x07;
const SIZE: u8 = 0x09;
const DIGESTS: u8 = 0x0a;
const FOLDER: u8 = 0x0b;
const UNPACK_SIZES: u8 = 0x0c;
const PACKED_HEADER: u8 = 0x17;

/// The compressed and uncompressed size in bytes of a compressed archive header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PackedHeader {
    pub packed: u64,
    pub unpacked: u64,
}

/// Returns the sizes of the archive header, or `None` if it is not compressed.
fn packed_header(input: &mut (impl Read + Seek)) -> io::Result<Option<PackedHeader>> {
    let mut start = [0; SIGNATURE_HEADER_BYTES as usize];
    input.rewind()?;
    input.read_exact(&mut start)?;
    let number = |at: usize| {
        let bytes = start
            .get(at..at + 8)
            .and_then(|bytes| bytes.try_into().ok());
        u64::from_le_bytes(bytes.unwrap_or_default())
    };
    // The offset and length of the archive header, or of the description of the compressed archive header.
    let (offset, length) = (number(12), number(20));
    // If the length is 0, the signature header does not state the position of the archive header. The codec would then
    // search for the archive header, but this function could not check it.
    if length == 0 {
        return match start.get(8..) {
            Some(rest) if rest.iter().any(|byte| *byte != 0) => Ok(None),
            _ => Err(io::ErrorKind::InvalidData.into()),
        };
    }
    let header_offset = SIGNATURE_HEADER_BYTES
        .checked_add(offset)
        .ok_or(io::ErrorKind::InvalidData)?;
    input.seek(SeekFrom::Start(header_offset))?;
    let mut header = Vec::new();
    let length = length.min(MAX_DESCRIPTION);
    Read::by_ref(input).take(length).read_to_end(&mut header)?;
    if header.first() != Some(&PACKED_HEADER) {
        return Ok(None);
    }
    let mut fields = Fields(header.get(1..).unwrap_or_default());
    let found = fields.packed_header().ok_or(io::ErrorKind::InvalidData)?;
    Ok(Some(found))
}

/// The remaining bytes of a header. The methods return `None` at the end and for unexpected content.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn skip(&mut self, count: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    /// Skips the property number `kind`. Returns `None` if another byte follows.
    fn expect(&mut self, kind: u8) -> Option<()> {
        (self.byte()? == kind).then_some(())
    }

    /// Reads an integer of one to nine bytes. The first byte begins with a 1 bit for each of the following bytes.
    fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        let count = first.leading_ones();
        let mut value = 0;
        for index in 0..count {
            value |= u64::from(self.byte()?) << (8 * index);
        }
        let high = u64::from(first) & (0x7f_u64 >> count);
        Some(value | high.checked_shl(8 * count).unwrap_or(0))
    }

    /// Parses the description of the compressed archive header.
    fn packed_header(&mut self) -> Option<PackedHeader> {
        self.expect(PACK_INFO)?;
        let (_, streams) = (self.number()?, self.number()?);
        self.expect(SIZE)?;
        let mut packed = 0_u64;
        for _ in 0..streams {
            packed = packed.checked_add(self.number()?)?;
        }
        if self.digests(streams)? != END {
            return None;
        }
        self.expect(UNPACK_INFO)?;
        self.expect(FOLDER)?;
        let folders = self.number()?;
        self.expect(0)?;
        let mut outputs = 0_u64;
        for _ in 0..folders {
            outputs = outputs.checked_add(self.folder()?)?;
        }
        self.expect(UNPACK_SIZES)?;
        let mut unpacked = 0;
        for _ in 0..outputs {
            unpacked = self.number()?.max(unpacked);
        }
        Some(PackedHeader { packed, unpacked })
    }

    /// Skips checksums, if the next property contains any. Returns the property number that follows them.
    fn digests(&mut self, count: u64) -> Option<u8> {
        let kind = self.byte()?;
        if kind != DIGESTS {
            return Some(kind);
        }
        let defined = match self.byte()? {
            0 => {
                let bytes = usize::try_from(count.div_ceil(8)).ok()?;
                let bits = self.0.get(..bytes)?.iter();
                let defined = bits.map(|byte| u64::from(byte.count_ones())).sum();
                self.skip(bytes as u64)?;
                defined
            }
            _ => count,
        };
        self.skip(defined.checked_mul(4)?)?;
        self.byte()
    }

    /// Skips the description of a group of coders that decode a compressed stream (`Folder` in the specification). Returns
    /// how many outputs the coders have in total.
    fn folder(&mut self) -> Option<u64> {
        let (mut inputs, mut outputs) = (0_u64, 0_u64);
        for _ in 0..self.number()? {
            // The four lowest bits are the length of the coder's id. Two further bits mean that the coder has several inputs
            // or outputs, and that it has properties.
            let flags = self.byte()?;
            self.skip(u64::from(flags & 0x0f))?;
            let (input, output) = match flags & 0x10 {
                0 => (1, 1),
                _ => (self.number()?, self.number()?),
            };
            inputs = inputs.checked_add(input)?;
            outputs = outputs.checked_add(output)?;
            if flags & 0x20 != 0 {
                let properties = self.number()?;
                self.skip(properties)?;
            }
        }
        // Two indices bind each output, except the final one, to an input.
        let bound = outputs.checked_sub(1)?;
        for _ in 0..bound {
            self.number()?;
            self.number()?;
        }
        let packed = inputs.checked_sub(bound)?;
        if packed > 1 {
            for _ in 0..packed {
                self.number()?;
            }
        }
        Some(outputs)
    }
}
