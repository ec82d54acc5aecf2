//! Compressed columns of numbers and strings.
//!
//! ```text
//! numbers:  N, the length in bytes of the largest number (0 to 8); then N parts in the format `bytes`: the lowest byte
//!           of all numbers, then the second lowest byte of all numbers, and so on
//! bytes:    compressed length, then the compressed data; or, if compression does not shorten the data, the uncompressed
//!           length, then the uncompressed data
//! ```
//!
//! A column of strings (`TextColumn`) consists of three columns of numbers and one column of bytes.
//!
//! The bytes of numbers are grouped because the groups compress better: the low bytes of offsets are noise, the high
//! bytes are nearly constant. The reader knows the uncompressed length of a part from earlier data. If the stored
//! length equals the uncompressed length, the part is not compressed. Damaged data cannot make the reader decompress
//! more bytes than the uncompressed length.
//!
//! Cache keys contain digests of these data. Therefore all machines must compress the same data to the same bytes. The
//! output of zstd depends only on its version and the compression level, but the output of zlib-rs also depends on the
//! processor.

use std::io;
use std::io::{Read, Write};

use zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound, get_error_name};

use crate::value::compact::{CompactReader, MAX_TEXT_BYTES, shared_start, write_number};

/// zstd level. Higher levels are slower and compress hardly better, because most of the data is noise.
const ZSTD_LEVEL: i32 = 1;

/// Data up to this length in bytes are not compressed, because a zstd frame alone has about this size.
const MIN_COMPRESSED_BYTES: usize = 16;

/// Converts an error code of zstd.
fn failed(code: usize) -> io::Error {
    io::Error::other(get_error_name(code))
}

pub(super) struct ColumnWriter {
    zstd: CCtx<'static>,
    /// Buffer for a *plane*: one byte of each number of a column, for example the lowest bytes of all numbers.
    plane: Vec<u8>,
    /// Buffer for compressed data.
    packed: Vec<u8>,
}

impl ColumnWriter {
    pub fn new() -> io::Result<ColumnWriter> {
        let mut zstd = CCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
        let level = CParameter::CompressionLevel(ZSTD_LEVEL);
        zstd.set_parameter(level).map_err(failed)?;
        Ok(ColumnWriter {
            zstd,
            plane: Vec::new(),
            packed: Vec::new(),
        })
    }

    /// Writes a column of numbers, one plane after another.
    pub fn numbers(&mut self, out: &mut impl Write, values: &[u64]) -> io::Result<()> {
        let used_bits = values.iter().fold(0, |used, value| used | value);
        let planes = (u64::BITS - used_bits.leading_zeros()).div_ceil(8);
        write_number(out, u64::from(planes))?;
        let mut plane = std::mem::take(&mut self.plane);
        for shift in (0..planes).map(|plane| 8 * plane) {
            plane.clear();
            plane.extend(values.iter().map(|value| (value >> shift).to_le_bytes()[0]));
            self.bytes(out, &plane)?;
        }
        self.plane = plane;
        Ok(())
    }

    /// Writes a column of bytes, compressed if this makes it shorter.
    pub fn bytes(&mut self, out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        self.packed.clear();
        let mut shortest = bytes;
        if bytes.len() > MIN_COMPRESSED_BYTES {
            self.packed.reserve(compress_bound(bytes.len()));
            let compressed = self.zstd.compress2(&mut self.packed, bytes);
            compressed.map_err(failed)?;
            if self.packed.len() < bytes.len() {
                shortest = &self.packed;
            }
        }
        write_number(out, shortest.len() as u64)?;
        out.write_all(shortest)
    }
}

pub(super) struct ColumnReader<R> {
    input: CompactReader<R>,
    zstd: DCtx<'static>,
    plane: Vec<u8>,
    packed: Vec<u8>,
}

impl<R: Read> ColumnReader<R> {
    pub fn new(input: CompactReader<R>) -> io::Result<ColumnReader<R>> {
        Ok(ColumnReader {
            input,
            zstd: DCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?,
            plane: Vec::new(),
            packed: Vec::new(),
        })
    }

    pub fn number(&mut self) -> io::Result<u64> {
        self.input.number()
    }

    /// Replaces `values` with the next `count` numbers.
    pub fn numbers(&mut self, count: usize, values: &mut Vec<u64>) -> io::Result<()> {
        let planes = self.input.number()?;
        if planes > 8 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        values.clear();
        values.resize(count, 0);
        let mut plane = std::mem::take(&mut self.plane);
        for shift in (0..planes).map(|plane| 8 * plane) {
            self.bytes(count, &mut plane)?;
            for (value, byte) in values.iter_mut().zip(&plane) {
                *value |= u64::from(*byte) << shift;
            }
        }
        self.plane = plane;
        Ok(())
    }

    /// Replaces `bytes` with the next `count` bytes of the input, which are stored without compression and length.
    pub fn plain(&mut self, count: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.clear();
        self.input.append(count, bytes)
    }

    /// Replaces `bytes` with the next column of bytes. `count` is its uncompressed length.
    pub fn bytes(&mut self, count: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        let length = usize::try_from(self.input.number()?).unwrap_or(usize::MAX);
        bytes.clear();
        if length == count {
            return self.input.append(length, bytes);
        }
        if length > count {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.packed.clear();
        self.input.append(length, &mut self.packed)?;
        bytes.reserve(count);
        let decompressed = self.zstd.decompress(bytes, &self.packed);
        decompressed.map_err(failed)?;
        match bytes.len() == count {
            true => Ok(()),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// A column of strings. Each string shares a prefix and a suffix with the previous string. The column stores the lengths of
/// prefix and suffix, and the *middle* between them. For example, the middle of `a/b/2.png` after `a/b/1.png` is `2`.
///
/// Middles are mostly digits, which zstd compresses to half a byte each.
#[derive(Default)]
pub(super) struct TextColumn {
    /// Length of the shared prefix of each string.
    starts: Vec<u64>,
    /// Length of the shared suffix of each string.
    ends: Vec<u64>,
    /// Length of the middle of each string.
    lengths: Vec<u64>,
    /// The middles of all strings.
    middles: Vec<u8>,
    /// Number of strings that were taken, and the total length of their middles.
    taken: (usize, usize),
    /// The previous string.
    before: Vec<u8>,
    /// Buffer for the next string.
    spare: Vec<u8>,
}

impl TextColumn {
    pub fn push(&mut self, now: &[u8]) {
        let before = &mut self.before;
        let start = shared_start(before, now);
        let (of_before, rest) = (before.get(start..), now.get(start..));
        let (of_before, rest) = (of_before.unwrap_or_default(), rest.unwrap_or_default());
        let end = shared_end(of_before, rest);
        let middle = rest.get(..rest.len() - end).unwrap_or_default();
        self.starts.push(start as u64);
        self.ends.push(end as u64);
        self.lengths.push(middle.len() as u64);
        self.middles.extend_from_slice(middle);
        before.truncate(start);
        before.extend_from_slice(rest);
    }

    /// Writes and clears all strings. `before` stays, because the next string is relative to it.
    pub fn write(&mut self, writer: &mut ColumnWriter, out: &mut impl Write) -> io::Result<()> {
        writer.numbers(out, &self.starts)?;
        writer.numbers(out, &self.ends)?;
        writer.numbers(out, &self.lengths)?;
        writer.bytes(out, &self.middles)?;
        self.starts.clear();
        self.ends.clear();
        self.lengths.clear();
        self.middles.clear();
        Ok(())
    }

    /// Reads `count` strings. Fails if the total length of their middles exceeds `max_bytes`.
    pub fn read(
        &mut self,
        input: &mut ColumnReader<impl Read>,
        count: usize,
        max_bytes: usize,
    ) -> io::Result<()> {
        input.numbers(count, &mut self.starts)?;
        input.numbers(count, &mut self.ends)?;
        input.numbers(count, &mut self.lengths)?;
        let lengths = self.lengths.iter();
        let total = lengths.fold(0_u64, |sum, length| sum.saturating_add(*length));
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        if total > max_bytes {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.taken = (0, 0);
        input.bytes(total, &mut self.middles)
    }

    /// Returns the next string. `None` if its lengths are invalid.
    pub fn take(&mut self) -> Option<&[u8]> {
        let (text, from) = self.taken;
        let number = |column: &[u64]| usize::try_from(*column.get(text)?).ok();
        let (start, end) = (number(&self.starts)?, number(&self.ends)?);
        let to = from + number(&self.lengths)?;
        self.taken = (text + 1, to);
        let all = self.before.len();
        if (start, to) == (all, from) {
            return Some(&self.before);
        }
        let end = all.checked_sub(end).filter(|end| *end >= start)?;
        self.spare.clear();
        self.spare.extend_from_slice(self.before.get(..start)?);
        self.spare.extend_from_slice(self.middles.get(from..to)?);
        self.spare.extend_from_slice(self.before.get(end..)?);
        std::mem::swap(&mut self.before, &mut self.spare);
        (self.before.len() <= MAX_TEXT_BYTES).then_some(&self.before)
    }
}

/// Returns the length of the common suffix.
pub(super) fn shared_end(mut a: &[u8], mut b: &[u8]) -> usize {
    let mut shared = 0;
    while let (Some((before, last)), Some((before_other, other))) =
        (a.split_last_chunk(), b.split_last_chunk())
    {
        let differing = u64::from_le_bytes(*last) ^ u64::from_le_bytes(*other);
        if differing != 0 {
            return shared + differing.leading_zeros() as usize / 8;
        }
        shared += 8;
        (a, b) = (before, before_other);
    }
    let pairs = a.iter().rev().zip(b.iter().rev());
    shared + pairs.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reader(bytes: &[u8]) -> io::Result<ColumnReader<&[u8]>> {
        ColumnReader::new(CompactReader::new(bytes))
    }

    proptest! {
        #[test]
        fn columns_round_trip(
            numbers in prop::collection::vec(prop_oneof![0..9_u64, 0..1000_u64, any::<u64>()], 0..300),
            bytes in prop_oneof!["a{0,99}", "[ab]{0,99}"],
        ) {
            let (mut writer, mut out) = (ColumnWriter::new()?, Vec::new());
            writer.numbers(&mut out, &numbers)?;
            writer.bytes(&mut out, bytes.as_bytes())?;
            let (mut found_numbers, mut found_bytes) = (vec![7], vec![7]);
            let mut reader = reader(&out)?;
            reader.numbers(numbers.len(), &mut found_numbers)?;
            reader.bytes(bytes.len(), &mut found_bytes)?;
            prop_assert_eq!(found_numbers, numbers);
            prop_assert_eq!(found_bytes, bytes.as_bytes());
        }
    }

    #[test]
    fn columns_with_a_wrong_length_are_rejected() -> io::Result<()> {
        let mut out = Vec::new();
        ColumnWriter::new()?.bytes(&mut out, &[b'a'; 1 << 20])?;
        assert!(out.len() < 200, "{} bytes", out.len());
        for requested in [1 << 10, (1 << 20) - 1, (1 << 20) + 1] {
            let mut found = Vec::new();
            assert!(reader(&out)?.bytes(requested, &mut found).is_err());
            assert!(found.capacity() <= 2 * requested);
        }
        Ok(())
    }
}

#[cfg(test)]
mod texts_tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn shared_prefixes_and_suffixes_are_found(a in "[ab]{0,3}", b in "[ab]{0,3}", same in "[ab]{0,40}") {
            let start = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
            let reversed = |text: &str| text.chars().rev().collect::<String>();
            let (x, y) = (format!("{same}{a}"), format!("{same}{b}"));
            prop_assert_eq!(shared_start(x.as_bytes(), y.as_bytes()), start(&x, &y));
            let (x, y) = (format!("{a}{same}"), format!("{b}{same}"));
            prop_assert_eq!(shared_end(x.as_bytes(), y.as_bytes()), start(&reversed(&x), &reversed(&y)));
        }
    }
}
