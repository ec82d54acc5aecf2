//! Latin-1 as UTF-8, in a stream.

use std::io::{self, Read};

/// Reads text in Latin-1 (ISO 8859-1) as UTF-8: every byte is the character of that number.
#[derive(Debug)]
pub struct Latin1Reader<R> {
    input: R,
    /// The second byte of a character whose first was handed out.
    half: Option<u8>,
    buffer: Vec<u8>,
}

impl<R: Read> Latin1Reader<R> {
    /// Reads from `input`.
    pub fn new(input: R) -> Self {
        Self {
            input,
            half: None,
            buffer: Vec::new(),
        }
    }
}

impl<R: Read> Read for Latin1Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut slots = out.iter_mut();
        let mut written = 0;
        if let Some(half) = self.half.take() {
            match slots.next() {
                Some(slot) => {
                    *slot = half;
                    return Ok(1);
                }
                None => {
                    self.half = Some(half);
                    return Ok(0);
                }
            }
        }
        // Half as many bytes fit in any case; a single slot takes half a character.
        let want = slots.len().div_ceil(2);
        self.buffer.resize(want, 0);
        let read = self.input.read(&mut self.buffer)?;
        for byte in self.buffer.iter().take(read) {
            let parts = [0xc0 | byte >> 6, 0x80 | byte & 0x3f];
            let parts = if byte.is_ascii() {
                &[*byte][..]
            } else {
                &parts[..]
            };
            for part in parts {
                match slots.next() {
                    Some(slot) => {
                        *slot = *part;
                        written += 1;
                    }
                    None => self.half = Some(*part),
                }
            }
        }
        Ok(written)
    }
}
