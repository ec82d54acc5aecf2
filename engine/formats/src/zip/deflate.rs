//! Reads a deflate stream with a decoder that is reused for the next stream.
//!
//! A decoder has 50 KB of aligned memory. The GNU allocator reuses only parts of such memory, so a new decoder for each
//! small member leaves holes in the heap that together take more memory than the content.

use std::cell::RefCell;
use std::io::{self, BufRead, Read};

use flate2::{Decompress, FlushDecompress, Status};

thread_local! {
    /// The decoder of the last stream that ended.
    static SPARE: RefCell<Option<Decompress>> = const { RefCell::new(None) };
}

/// A reader of the content of a raw deflate stream.
#[derive(Debug)]
pub(super) struct DeflateReader<R> {
    input: R,
    /// Exists until the reader is dropped.
    decoder: Option<Decompress>,
}

impl<R: BufRead> DeflateReader<R> {
    pub(super) fn new(input: R) -> Self {
        let spare = SPARE.try_with(RefCell::take).ok().flatten();
        let mut decoder = spare.unwrap_or_else(|| Decompress::new(false));
        decoder.reset(false);
        DeflateReader {
            input,
            decoder: Some(decoder),
        }
    }
}

impl<R> DeflateReader<R> {
    /// Returns the number of compressed bytes that were used.
    pub(super) fn total_in(&self) -> u64 {
        self.decoder.as_ref().map_or(0, Decompress::total_in)
    }
}

impl<R: BufRead> Read for DeflateReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let Some(decoder) = &mut self.decoder else {
            return Ok(0);
        };
        loop {
            let input = self.input.fill_buf()?;
            let is_end = input.is_empty();
            let flush = match is_end {
                true => FlushDecompress::Finish,
                false => FlushDecompress::None,
            };
            let before = (decoder.total_in(), decoder.total_out());
            let status = decoder.decompress(input, buf, flush);
            let used = decoder.total_in() - before.0;
            let written = decoder.total_out() - before.1;
            // Both are lengths of slices.
            self.input.consume(used as usize);
            let corrupt = |_| io::Error::new(io::ErrorKind::InvalidInput, "corrupt deflate stream");
            let has_ended = status.map_err(corrupt)? == Status::StreamEnd;
            if has_ended || written > 0 || buf.is_empty() {
                return Ok(written as usize);
            }
            if is_end {
                let incomplete = "incomplete deflate stream";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, incomplete));
            }
        }
    }
}

impl<R> Drop for DeflateReader<R> {
    fn drop(&mut self) {
        // At the end of a thread, there is no place for a spare decoder any more.
        let _ = SPARE.try_with(|spare| spare.replace(self.decoder.take()));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    #[test]
    fn a_stream_is_decoded_after_one_that_was_damaged_or_not_read_to_its_end() {
        let text: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&text).unwrap();
        let packed = encoder.finish().unwrap();
        let is_read = || {
            let mut reader = DeflateReader::new(packed.as_slice());
            let mut found = Vec::new();
            reader.read_to_end(&mut found).unwrap();
            found == text && reader.total_in() == packed.len() as u64
        };
        assert!(is_read());
        DeflateReader::new(packed.as_slice())
            .read_exact(&mut [0; 100])
            .unwrap();
        assert!(is_read());
        assert!(
            DeflateReader::new([0xff; 9].as_slice())
                .read(&mut [0; 9])
                .is_err()
        );
        assert!(is_read());
        let two = [0; 2].map(|_| DeflateReader::new(packed.as_slice()));
        for mut reader in two {
            let mut found = Vec::new();
            reader.read_to_end(&mut found).unwrap();
            assert!(found == text);
        }
        let mut cut = DeflateReader::new(packed.get(..packed.len() / 2).unwrap());
        let error = cut.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
