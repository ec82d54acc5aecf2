//! Determines the uncompressed size of a compressed archive header before it is unpacked.
//!
//! The codec unpacks the header into memory, and allocates a record of more than a hundred bytes for each declared
//! entry. A header of zeros compresses by a factor of 7,000, so a file of a few kilobytes could demand gigabytes. Real
//! headers (names, checksums, times) compress by a factor of 5 to 15.
//!
//! Source: `7zFormat.txt` of the LZMA SDK.

use std::io::{self, Read, Seek, SeekFrom};

/// Length of the signature header in bytes: signature, version, offset of the header. The packed streams follow it.
const SIGNATURE_HEADER_BYTES: u64 = 32;
/// Maximum length in bytes of the structure that describes the compressed header. It usually has a few dozen bytes.
const MAX_DESCRIPTION: u64 = 1 << 16;

const END: u8 = 0x00;
const PACK_INFO: u8 = 0x06;
const UNPACK_INFO: u8 = 0x07;
const SIZE: u8 = 0x09;
const DIGESTS: u8 = 0x0a;
const FOLDER: u8 = 0x0b;
const UNPACK_SIZES: u8 = 0x0c;
const PACKED_HEADER: u8 = 0x17;

/// The sizes in bytes of a compressed header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PackedHeader {
    pub packed: u64,
    pub unpacked: u64,
}

/// Returns the sizes of the header, or `None` if it is not compressed.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] if the sizes cannot be determined; I/O errors while reading.
pub(super) fn packed_header(input: &mut (impl Read + Seek)) -> io::Result<Option<PackedHeader>> {
    let mut start = [0; SIGNATURE_HEADER_BYTES as usize];
    input.rewind()?;
    input.read_exact(&mut start)?;
    let number = |at: usize| {
        let bytes = start
            .get(at..at + 8)
            .and_then(|bytes| bytes.try_into().ok());
        u64::from_le_bytes(bytes.unwrap_or_default())
    };
    let (offset, length) = (number(12), number(20));
    // If the offset is missing, the codec searches the file for a header. That header would not be checked by this
    // function, so a missing offset is an error.
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

    fn expect(&mut self, kind: u8) -> Option<()> {
        (self.byte()? == kind).then_some(())
    }

    /// Reads an integer of one to nine bytes. The leading ones of the first byte are the number of bytes that follow.
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

    /// Skips checksums, if the next property contains any. Returns the number of the property that follows.
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

    /// Skips the description of a compressed stream. Returns the number of uncompressed streams.
    fn folder(&mut self) -> Option<u64> {
        let (mut inputs, mut outputs) = (0_u64, 0_u64);
        for _ in 0..self.number()? {
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
