//! Columns of numbers and texts in few bytes.
//!
//! ```text
//! numbers:  how many of their eight bytes are ever used, then these: the lowest of all numbers as bytes, the next of all ...
//! bytes:    the length of what they are packed to, or their own where that is no longer; then that
//! ```
//!
//! How many there are, whoever reads knows from what came before, so nothing is unpacked to more than is wanted. Bytes of one
//! place next to each other have a distribution of their own: the low ones of offsets are noise, the high ones nearly the
//! same. They are packed by zstd, whose output for a version and level is the same on every processor. (That of zlib-rs
//! depends on it; digests of listings are parts of keys.)

use std::io::{self, Read, Write};

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::compress_bound;

use crate::value::compact::{Input, write_number};

/// Higher ones find little more in what is noise for the most part, and take longer.
const LEVEL: i32 = 1;

/// What is shorter stays as it is: a frame of zstd alone takes as much.
const SHORTEST: usize = 16;

pub(super) struct Packer {
    zstd: Compressor<'static>,
    plane: Vec<u8>,
    packed: Vec<u8>,
}

impl Packer {
    pub fn new() -> io::Result<Packer> {
        Ok(Packer {
            zstd: Compressor::new(LEVEL)?,
            plane: Vec::new(),
            packed: Vec::new(),
        })
    }

    pub fn numbers(&mut self, out: &mut impl Write, values: &[u64]) -> io::Result<()> {
        let used = values.iter().fold(0, |used, value| used | value);
        let planes = (u64::BITS - used.leading_zeros()).div_ceil(8);
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

    pub fn bytes(&mut self, out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        self.packed.clear();
        let mut shortest = bytes;
        if bytes.len() > SHORTEST {
            self.packed.reserve(compress_bound(bytes.len()));
            self.zstd.compress_to_buffer(bytes, &mut self.packed)?;
            if self.packed.len() < bytes.len() {
                shortest = &self.packed;
            }
        }
        write_number(out, shortest.len() as u64)?;
        out.write_all(shortest)
    }
}

/// Reads what [`Packer`] wrote.
pub(super) struct Unpacker<R> {
    input: Input<R>,
    zstd: Decompressor<'static>,
    plane: Vec<u8>,
    packed: Vec<u8>,
}

impl<R: Read> Unpacker<R> {
    pub fn new(input: Input<R>) -> io::Result<Unpacker<R>> {
        Ok(Unpacker {
            input,
            zstd: Decompressor::new()?,
            plane: Vec::new(),
            packed: Vec::new(),
        })
    }

    pub fn number(&mut self) -> io::Result<u64> {
        self.input.number()
    }

    /// So many numbers, instead of those that were there.
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

    /// So many bytes as they are, instead of those that were there.
    pub fn plain(&mut self, count: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.clear();
        self.input.append(count, bytes)
    }

    /// So many bytes, instead of those that were there.
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
        self.zstd.decompress_to_buffer(&self.packed, bytes)?;
        match bytes.len() == count {
            true => Ok(()),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unpacker(bytes: &[u8]) -> io::Result<Unpacker<&[u8]>> {
        Unpacker::new(Input::new(bytes))
    }

    proptest! {
        #[test]
        fn columns_are_read_back(
            numbers in prop::collection::vec(prop_oneof![0..9_u64, 0..1000_u64, any::<u64>()], 0..300),
            bytes in prop_oneof!["a{0,99}", "[ab]{0,99}"],
        ) {
            let (mut packer, mut out) = (Packer::new()?, Vec::new());
            packer.numbers(&mut out, &numbers)?;
            packer.bytes(&mut out, bytes.as_bytes())?;
            let (mut found_numbers, mut found_bytes) = (vec![7], vec![7]);
            let mut unpacker = unpacker(&out)?;
            unpacker.numbers(numbers.len(), &mut found_numbers)?;
            unpacker.bytes(bytes.len(), &mut found_bytes)?;
            prop_assert_eq!(found_numbers, numbers);
            prop_assert_eq!(found_bytes, bytes.as_bytes());
        }
    }

    #[test]
    fn nothing_is_unpacked_to_more_or_less_than_is_wanted() -> io::Result<()> {
        let mut out = Vec::new();
        Packer::new()?.bytes(&mut out, &[b'a'; 1 << 20])?;
        assert!(out.len() < 200, "{} bytes", out.len());
        for wanted in [1 << 10, (1 << 20) - 1, (1 << 20) + 1] {
            let mut found = Vec::new();
            assert!(unpacker(&out)?.bytes(wanted, &mut found).is_err());
            assert!(found.capacity() <= 2 * wanted);
        }
        Ok(())
    }
}
