//! Converts a stream of UTF-16 to UTF-8.

use std::io::{self, Read};

use encoding_rs::{Decoder, UTF_16BE, UTF_16LE};

/// Reads UTF-16 text as UTF-8. Unpaired surrogates, and an incomplete character at the end, become U+FFFD.
pub(super) struct Utf16Reader<R> {
    input: R,
    decoder: Decoder,
    /// Converted text. The next field is the offset of the part that was not returned yet.
    text: String,
    given: usize,
    bytes: Vec<u8>,
    is_finished: bool,
}

/// Number of bytes that are read at once.
const CHUNK_BYTES: u64 = 1 << 16;

impl<R: Read> Utf16Reader<R> {
    /// Creates a reader. `input` must be positioned after the byte order mark.
    pub(super) fn new(input: R, is_little: bool) -> Self {
        let encoding = if is_little { UTF_16LE } else { UTF_16BE };
        Utf16Reader {
            input,
            decoder: encoding.new_decoder_without_bom_handling(),
            text: String::new(),
            given: 0,
            bytes: Vec::new(),
            is_finished: false,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.text.clear();
        self.given = 0;
        self.bytes.clear();
        let mut chunk = Read::by_ref(&mut self.input).take(CHUNK_BYTES);
        self.is_finished = chunk.read_to_end(&mut self.bytes)? == 0;
        let room = self.decoder.max_utf8_buffer_length(self.bytes.len());
        self.text.reserve(room.unwrap_or_default());
        let (bytes, text) = (&self.bytes, &mut self.text);
        let _ = self.decoder.decode_to_string(bytes, text, self.is_finished);
        Ok(())
    }
}

impl<R: Read> Read for Utf16Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // Repeat, because a chunk may contain only half a character.
        while self.given == self.text.len() {
            // A decoder must not be used after its last chunk.
            if self.is_finished {
                return Ok(0);
            }
            self.fill()?;
        }
        let left = self.text.as_bytes().get(self.given..).unwrap_or_default();
        let count = left.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), left.get(..count)) {
            to.copy_from_slice(from);
        }
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns only a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let few = out.len().min(self.1);
            self.0.read(out.get_mut(..few).unwrap_or_default())
        }
    }

    #[test]
    fn chunked_reading_equals_reading_the_entire_text() {
        let mut random = 7_u64;
        let mut next = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(99);
            random >> 33
        };
        for round in 0..200 {
            let length = match round {
                0 => 200_000,
                round => round % 40,
            };
            let units: Vec<u16> = (0..length)
                .map(|_| match next() % 4 {
                    0 => 0xd800 + (next() % 0x800) as u16,
                    1 => (next() % 0x1_0000) as u16,
                    _ => 0x20 + (next() % 0x60) as u16,
                })
                .collect();
            let whole: String = char::decode_utf16(units.iter().copied())
                .map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect();
            for is_little in [true, false] {
                let bytes: Vec<u8> = units
                    .iter()
                    .flat_map(|unit| match is_little {
                        true => unit.to_le_bytes(),
                        false => unit.to_be_bytes(),
                    })
                    .collect();
                let mut text = String::new();
                let mut reader = Utf16Reader::new(Slow(&bytes, 3 + round % 5), is_little);
                reader.read_to_string(&mut text).unwrap();
                assert!(text == whole, "{units:x?}");
                assert_eq!(reader.read(&mut [0; 9]).unwrap(), 0);
                // An incomplete unit at the end becomes U+FFFD, together with an unpaired surrogate before it.
                let odd = [&bytes, b"x".as_slice()].concat();
                let mut text = String::new();
                Utf16Reader::new(Slow(&odd, 3 + round % 5), is_little)
                    .read_to_string(&mut text)
                    .unwrap();
                let is_alone = matches!(units.last(), Some(0xd800..0xdc00));
                let end = if is_alone { "" } else { "\u{fffd}" };
                assert_eq!(text, format!("{whole}{end}"), "{units:x?}");
            }
        }
    }
}
