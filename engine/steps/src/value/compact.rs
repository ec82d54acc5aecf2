//! Compact encoding of numbers and strings, for listings of millions of files.
//!
//! - A number is a variable-length integer with seven bits per byte, lowest bits first. Some numbers are stored as the
//!   difference to another number.
//! - A string is stored as the length of the prefix that it shares with the previous string, and the remaining bytes.

use std::io::{self, BufRead, BufReader, Read, Write};

use super::positions::partition_point;

/// A string with more bytes than this is invalid. No file system supports longer paths.
pub(crate) const MAX_TEXT_BYTES: usize = 1 << 20;

/// A list of strings in one buffer, so that a string needs no allocation of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TextList {
    /// All strings, one after another.
    text: String,
    /// The end of each string in `text`.
    ends: Vec<u64>,
}

impl TextList {
    pub fn with_capacity(texts: usize, bytes: usize) -> TextList {
        TextList {
            text: String::with_capacity(bytes),
            ends: Vec::with_capacity(texts),
        }
    }

    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len() as u64);
    }

    /// Appends one string that consists of `first` and `second`.
    pub fn push_joined(&mut self, first: &str, second: &str) {
        self.text.push_str(first);
        self.push(second);
    }

    pub fn get(&self, index: usize) -> &str {
        let end = |index: usize| {
            let end = self.ends.get(index).copied().unwrap_or_default();
            usize::try_from(end).unwrap_or(usize::MAX)
        };
        let start = index.checked_sub(1).map_or(0, end);
        self.text.get(start..end(index)).unwrap_or_default()
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the total length of the strings.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Returns the index of the first string that is not less than `text`. The strings must be sorted.
    pub fn lower_bound(&self, text: &str) -> usize {
        partition_point(self.len(), |index| self.get(index) < text)
    }

    pub fn shrink_to_fit(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

/// Writes a number with seven bits per byte, lowest bits first. The highest bit of a byte is set if another byte
/// follows.
pub(crate) fn write_number(out: &mut impl Write, mut value: u64) -> io::Result<()> {
    let mut bytes = [0; 10];
    let mut count = 0;
    for byte in &mut bytes {
        count += 1;
        *byte = u8::try_from(value & 0x7f).unwrap_or(0);
        value >>= 7;
        if value == 0 {
            break;
        }
        *byte |= 0x80;
    }
    out.write_all(bytes.get(..count).unwrap_or_default())
}

/// Writes the difference between `value` and `from`. Small differences, positive or negative, take few bytes.
pub(crate) fn write_difference(out: &mut impl Write, value: u64, from: u64) -> io::Result<()> {
    write_number(out, difference(value, from))
}

/// Encodes the difference between `value` and `from` as an unsigned number (zigzag encoding).
pub(crate) fn difference(value: u64, from: u64) -> u64 {
    let distance = value.wrapping_sub(from).cast_signed();
    ((distance << 1) ^ (distance >> 63)).cast_unsigned()
}

/// Returns the value with this [`difference`] to `from`.
pub(crate) fn value_from(difference: u64, from: u64) -> u64 {
    from.wrapping_add((difference >> 1) ^ (difference & 1).wrapping_neg())
}

/// Writes `now` relative to `before`, which must be the previous string. Afterwards, `before` contains `now`.
pub(crate) fn write_text(out: &mut impl Write, before: &mut Vec<u8>, now: &[u8]) -> io::Result<()> {
    let shared = shared_start(before, now);
    let rest = now.get(shared..).unwrap_or_default();
    write_number(out, shared as u64)?;
    write_number(out, rest.len() as u64)?;
    before.truncate(shared);
    before.extend_from_slice(rest);
    out.write_all(rest)
}

/// Returns the length of the common prefix. Compares eight bytes at a time, which causes fewer mispredicted branches.
pub(crate) fn shared_start(mut a: &[u8], mut b: &[u8]) -> usize {
    let mut shared = 0;
    while let (Some((first, after)), Some((other, after_other))) =
        (a.split_first_chunk(), b.split_first_chunk())
    {
        let differing = u64::from_le_bytes(*first) ^ u64::from_le_bytes(*other);
        if differing != 0 {
            return shared + differing.trailing_zeros() as usize / 8;
        }
        shared += 8;
        (a, b) = (after, after_other);
    }
    shared + a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Reads numbers and strings in the encoding of this module.
pub(crate) struct CompactReader<R>(BufReader<R>);

impl<R: Read> CompactReader<R> {
    pub fn new(input: R) -> CompactReader<R> {
        CompactReader(BufReader::with_capacity(1 << 18, input))
    }

    pub fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads a number that [`write_number`] wrote.
    pub fn number(&mut self) -> io::Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = match self.0.fill_buf()?.first() {
                Some(byte) => *byte,
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            };
            self.0.consume(1);
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }

    /// Reads a number that [`write_difference`] wrote as its difference to `from`.
    pub fn difference(&mut self, from: u64) -> io::Result<u64> {
        Ok(value_from(self.number()?, from))
    }

    /// Reads the next string. Replaces `before`, which must be the previous string, with it.
    pub fn text(&mut self, before: &mut Vec<u8>) -> io::Result<()> {
        let shared = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        let more = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if shared > before.len() || more > MAX_TEXT_BYTES - shared.min(MAX_TEXT_BYTES) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        before.truncate(shared);
        self.append(more, before)
    }

    /// Appends the next `count` bytes. Allocates memory only as bytes arrive, because `count` may be wrong in damaged data.
    pub fn append(&mut self, count: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        let input = Read::by_ref(&mut self.0).take(count as u64);
        match { input }.read_to_end(bytes)? == count {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
