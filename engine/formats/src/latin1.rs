//! Converts a stream from Latin-1 (ISO 8859-1) to UTF-8.
//!
//! Python decodes each byte to the character with the same code. Web decoders treat the label Latin-1 as Windows-1252,
//! so they cannot be used.

use std::io::{self, Read};

use encoding_rs::mem::convert_latin1_to_utf8;

/// Reads Latin-1 text as UTF-8. Each input byte becomes the character with that code.
#[derive(Debug)]
pub struct Latin1Reader<R> {
    input: R,
    /// Input buffer.
    latin1: Vec<u8>,
    /// Converted text. The first `returned` bytes of it have been returned to the caller.
    utf8: Vec<u8>,
    returned: usize,
}

/// Size of the input buffer in bytes.
const CHUNK_BYTES: usize = 1 << 16;

impl<R: Read> Latin1Reader<R> {
    /// Creates a reader that converts the bytes of `input`.
    pub fn new(input: R) -> Self {
        Self {
            input,
            latin1: vec![0; CHUNK_BYTES],
            utf8: Vec::new(),
            returned: 0,
        }
    }
}

impl<R: Read> Read for Latin1Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.returned == self.utf8.len() {
            let count = self.input.read(&mut self.latin1)?;
            let latin1 = self.latin1.get(..count).unwrap_or_default();
            self.utf8.resize(2 * latin1.len(), 0);
            let length = convert_latin1_to_utf8(latin1, &mut self.utf8);
            self.utf8.truncate(length);
            self.returned = 0;
        }
        let mut left = self.utf8.get(self.returned..).unwrap_or_default();
        let count = left.read(out)?;
        self.returned += count;
        Ok(count)
    }
}
