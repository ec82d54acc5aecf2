//! Latin-1 as UTF-8, in a stream.
//!
//! What the web calls Latin-1 is Windows-1252, and so do the decoders for streams; this is ISO 8859-1, as Python reads it.

use std::io::{self, Read};

use encoding_rs::mem::convert_latin1_to_utf8;

/// Reads text in Latin-1 (ISO 8859-1) as UTF-8: every byte is the character of that number.
#[derive(Debug)]
pub struct Latin1Reader<R> {
    input: R,
    latin1: Vec<u8>,
    /// Text of which `given` bytes were handed out.
    utf8: Vec<u8>,
    given: usize,
}

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 16;

impl<R: Read> Latin1Reader<R> {
    /// Reads from `input`.
    pub fn new(input: R) -> Self {
        Self {
            input,
            latin1: vec![0; CHUNK_BYTES],
            utf8: Vec::new(),
            given: 0,
        }
    }
}

impl<R: Read> Read for Latin1Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.given == self.utf8.len() {
            let count = self.input.read(&mut self.latin1)?;
            let latin1 = self.latin1.get(..count).unwrap_or_default();
            self.utf8.resize(2 * latin1.len(), 0);
            let length = convert_latin1_to_utf8(latin1, &mut self.utf8);
            self.utf8.truncate(length);
            self.given = 0;
        }
        let mut left = self.utf8.get(self.given..).unwrap_or_default();
        let count = left.read(out)?;
        self.given += count;
        Ok(count)
    }
}
