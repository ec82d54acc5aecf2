//! Decodes a deflate stream from a reader, block by block.

use std::io::{self, Read};
use std::ops::Range;

pub(super) use crate::deflate::Stop;
use crate::deflate::{Decoded, Inflater};

const BUFFER_BYTES: usize = 1 << 16;

/// The result of [`Stream::step`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Number of output bytes.
    pub written: usize,
    pub stop: Stop,
}

/// A deflate stream that is decoded from a reader.
pub(super) struct Stream<R> {
    packed: R,
    buffer: Vec<u8>,
    /// The unconsumed range of `buffer`.
    left: Range<usize>,
    /// The byte before the content of `buffer`.
    before: u8,
    /// Number of bytes that were read from `packed`.
    read: u64,
    decoder: Inflater,
}

/// The beginning of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// Offset in bits of the block's first bit in the stream.
    pub bit: u64,
    pub is_stored: bool,
}

impl<R: Read> Stream<R> {
    pub fn new(packed: R) -> Self {
        Self {
            packed,
            buffer: vec![0; BUFFER_BYTES],
            left: 0..0,
            before: 0,
            read: 0,
            decoder: Inflater::default(),
        }
    }

    /// Starts decoding at the bit `bit` of the first byte of `packed`. `window` contains the uncompressed bytes before the
    /// block that begins there.
    pub fn resume(packed: R, bit: u8, window: &[u8]) -> io::Result<Self> {
        let mut stream = Self::new(packed);
        let mut first = [0];
        stream.packed.read_exact(&mut first)?;
        let [first] = first;
        stream.decoder.reset_within(first, bit, window);
        Ok(stream)
    }

    /// Returns the number of consumed bytes of the stream.
    pub fn used(&self) -> u64 {
        self.read - self.left.len() as u64
    }

    /// Returns the input, and the bytes that were read from it but not consumed.
    pub fn into_rest(self) -> (R, Vec<u8>) {
        let rest = self.buffer.get(self.left).unwrap_or_default().to_vec();
        (self.packed, rest)
    }

    /// Reads more of the stream. All bytes in `buffer` must have been consumed.
    fn refill(&mut self) -> io::Result<()> {
        let last = self.left.end.checked_sub(1);
        self.before = last
            .and_then(|last| self.buffer.get(last).copied())
            .unwrap_or(self.before);
        let count = loop {
            match self.packed.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                count => break count?,
            }
        };
        self.read += count as u64;
        self.left = 0..count;
        Ok(())
    }

    /// Returns the block that begins at the current position. The first `left_over` bits of the block are the highest bits
    /// of the last consumed byte.
    ///
    /// A block begins with three header bits. The first bit marks the last block. The other two bits contain the kind of the
    /// block.
    pub fn block(&mut self, left_over: u64) -> io::Result<Block> {
        if self.left.is_empty() {
            self.refill()?;
        }
        let before = match self.left.start.checked_sub(1) {
            Some(index) => self.buffer.get(index).copied(),
            None => Some(self.before),
        };
        let next = self.buffer.get(self.left.clone()).and_then(<[u8]>::first);
        let two = [before.unwrap_or(0), next.copied().unwrap_or(0)];
        let header = left_over < 8;
        let header = header.then(|| u16::from_le_bytes(two) >> (8 - left_over));
        Ok(Block {
            bit: (8 * self.used()).saturating_sub(left_over),
            is_stored: header.is_some_and(|header| header >> 1 & 3 == 0),
        })
    }

    /// Decodes into `output` until the block or a buffer ends.
    pub fn step(&mut self, output: &mut [u8]) -> io::Result<Step> {
        if self.left.is_empty() {
            self.refill()?;
        }
        let input = self.buffer.get(self.left.clone()).unwrap_or_default();
        let decoded = self.decoder.decode_block(input, output);
        let Decoded {
            used,
            written,
            stop,
        } = decoded.map_err(|_| damaged())?;
        let is_stuck = used == 0 && written == 0 && stop == Stop::Anywhere;
        if is_stuck && self.left.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if is_stuck {
            return Err(damaged());
        }
        self.left.start += used;
        Ok(Step { written, stop })
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the deflate stream is damaged")
}
