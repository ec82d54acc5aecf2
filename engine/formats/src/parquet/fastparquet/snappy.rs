//! Compresses a stream piece by piece in Snappy's block format.
//!
//! A stream is its uncompressed length, followed by independently compressed blocks of 64 KiB. So each block is
//! compressed as soon as it is complete, and only compressed bytes are stored until the length is known.

use std::io::{self, Read, Seek, Write};
use std::path::Path;

use snap::raw::{Encoder, max_compress_len};
use tempfile::SpooledTempFile;

use super::thrift::push_varint;

/// Uncompressed size of a block in bytes.
const BLOCK_BYTES: usize = 1 << 16;
/// Maximum size in bytes of the compressed blocks in memory. Further blocks are stored in a temporary file.
const MAX_MEMORY_BYTES: usize = 4 << 20;

/// The state of compressing a stream.
pub(super) struct Snappy {
    encoder: Encoder,
    block: Vec<u8>,
    compressed: Vec<u8>,
    blocks: SpooledTempFile,
    read: u64,
    written: u64,
}

impl Snappy {
    pub(super) fn new(scratch: &Path) -> Self {
        Self {
            encoder: Encoder::new(),
            block: Vec::with_capacity(BLOCK_BYTES),
            compressed: vec![0; max_compress_len(BLOCK_BYTES)],
            blocks: SpooledTempFile::new_in(MAX_MEMORY_BYTES, scratch),
            read: 0,
            written: 0,
        }
    }

    /// Appends uncompressed bytes.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.read += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = BLOCK_BYTES - self.block.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if self.block.len() == BLOCK_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let length = self.encoder.compress(&self.block, &mut self.compressed);
        let length = length.map_err(io::Error::other)?;
        // The encoder begins its output with the length of the block.
        let head = varint_length(self.block.len() as u64);
        let body = self.compressed.get(head..length).unwrap_or_default();
        self.blocks.write_all(body)?;
        self.written += body.len() as u64;
        self.block.clear();
        Ok(())
    }

    /// The number of uncompressed bytes.
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// Returns the compressed length and a reader of the stream.
    pub(super) fn finish(mut self) -> io::Result<(u64, impl Read)> {
        if !self.block.is_empty() {
            self.flush()?;
        }
        let mut head = Vec::new();
        push_varint(&mut head, self.read);
        self.blocks.rewind()?;
        let length = head.len() as u64 + self.written;
        Ok((length, io::Cursor::new(head).chain(self.blocks)))
    }
}

fn varint_length(value: u64) -> usize {
    let mut bytes = Vec::new();
    push_varint(&mut bytes, value);
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressing_in_chunks_equals_compressing_at_once() {
        let mut state = 7_u32;
        let bytes: Vec<u8> = (0..200_000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 29) as u8
            })
            .collect();
        for length in [0, 1, 16, 17, 65_535, 65_536, 65_537, 200_000] {
            let bytes = &bytes[..length];
            let mut pieces = Snappy::new(&std::env::temp_dir());
            for piece in bytes.chunks(777) {
                pieces.push(piece).unwrap();
            }
            let (expected, mut stream) = pieces.finish().unwrap();
            let mut found = Vec::new();
            stream.read_to_end(&mut found).unwrap();
            assert_eq!(found, Encoder::new().compress_vec(bytes).unwrap());
            assert_eq!(expected, found.len() as u64);
        }
    }
}
