//! Encodings of text files, and their conversion to UTF-8.
//!
//! In Latin-1 (ISO 8859-1), each byte is the character with the same code. Decoders for web pages decode Latin-1 as
//! Windows-1252, so this module does not use them. In Windows-1252, five bytes have no character. They are an error here,
//! as in Python's codec `cp1252`.

use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read};

use encoding_rs::mem::convert_latin1_to_utf8;
use encoding_rs::{Decoder, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// The encoding of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TextEncoding {
    /// UTF-8.
    Utf8,
    /// Latin-1, or any other encoding in which each byte is a character.
    Latin1,
    /// Windows-1252, which is Latin-1 with further characters in place of the control characters 0x80 to 0x9f.
    Windows1252,
    /// UTF-16, low byte first.
    Utf16Le,
    /// UTF-16, high byte first.
    Utf16Be,
}

impl TextEncoding {
    /// Returns the name of the encoding for messages.
    pub fn name(self) -> &'static str {
        match self {
            TextEncoding::Utf8 => "UTF-8",
            TextEncoding::Latin1 => "a single-byte encoding",
            TextEncoding::Windows1252 => "Windows-1252",
            TextEncoding::Utf16Le => "UTF-16, low byte first",
            TextEncoding::Utf16Be => "UTF-16, high byte first",
        }
    }

    /// Converts a reader to UTF-8.
    pub fn reader<'r>(self, input: impl Read + Send + 'r) -> Box<dyn Read + Send + 'r> {
        match self {
            TextEncoding::Utf8 => Box::new(input),
            other => Box::new(Utf8Reader::new(input, other)),
        }
    }

    /// Converts a buffered reader to UTF-8. Input that is already UTF-8 gets no second buffer.
    pub fn buffered<'r>(self, input: impl BufRead + 'r) -> Box<dyn BufRead + 'r> {
        match self {
            TextEncoding::Utf8 => Box::new(input),
            other => Box::new(BufReader::new(Utf8Reader::new(input, other))),
        }
    }
}

/// Reads text as UTF-8. Unpaired surrogates of UTF-16, and an incomplete character at the end, become U+FFFD.
pub struct Utf8Reader<R> {
    input: R,
    decoder: Option<Decoder>,
    bytes: Vec<u8>,
    /// Converted text, of which the first `returned` bytes have been returned to the caller.
    text: Vec<u8>,
    returned: usize,
    is_finished: bool,
}

const CHUNK_BYTES: u64 = 1 << 16;
/// The bytes without a character in Windows-1252.
pub const UNDEFINED_BYTES: [u8; 5] = [0x81, 0x8d, 0x8f, 0x90, 0x9d];

impl<R: Read> Utf8Reader<R> {
    /// Converts the bytes of `input`, which must not begin with a byte order mark. `encoding` must not be UTF-8.
    pub fn new(input: R, encoding: TextEncoding) -> Self {
        let other = match encoding {
            TextEncoding::Windows1252 => Some(WINDOWS_1252),
            TextEncoding::Utf16Le => Some(UTF_16LE),
            TextEncoding::Utf16Be => Some(UTF_16BE),
            TextEncoding::Utf8 | TextEncoding::Latin1 => None,
        };
        Utf8Reader {
            input,
            decoder: other.map(|encoding| encoding.new_decoder_without_bom_handling()),
            bytes: Vec::new(),
            text: Vec::new(),
            returned: 0,
            is_finished: false,
        }
    }

    /// Converts the next chunk. `text` may be empty afterwards.
    fn fill(&mut self) -> io::Result<()> {
        self.text.clear();
        self.returned = 0;
        self.bytes.clear();
        let mut chunk = Read::by_ref(&mut self.input).take(CHUNK_BYTES);
        self.is_finished = chunk.read_to_end(&mut self.bytes)? == 0;
        let (bytes, text) = (&self.bytes, &mut self.text);
        let length = match &mut self.decoder {
            None => {
                text.resize(2 * bytes.len(), 0);
                convert_latin1_to_utf8(bytes, text)
            }
            Some(decoder) => {
                let mut undefined = bytes.iter().filter(|byte| UNDEFINED_BYTES.contains(byte));
                if let Some(byte) = undefined
                    .next()
                    .filter(|_| decoder.encoding() == WINDOWS_1252)
                {
                    let message = format!("the byte {byte:#x} is not a character of Windows-1252");
                    return Err(Error::new(ErrorKind::InvalidData, message));
                }
                let room = decoder.max_utf8_buffer_length(bytes.len());
                text.resize(room.unwrap_or_default(), 0);
                let (_, _, length, _) = decoder.decode_to_utf8(bytes, text, self.is_finished);
                length
            }
        };
        text.truncate(length);
        Ok(())
    }
}

impl<R: Read> Read for Utf8Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // A chunk may contain only half a character.
        while self.returned == self.text.len() {
            // A decoder must not be used after its last chunk.
            if self.is_finished {
                return Ok(0);
            }
            self.fill()?;
        }
        let mut left = self.text.get(self.returned..).unwrap_or_default();
        let count = left.read(out)?;
        self.returned += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads at most the given number of bytes at once.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = out.len().min(self.1);
            self.0.read(out.get_mut(..count).unwrap_or_default())
        }
    }

    #[test]
    fn windows_1252_is_decoded_as_by_python() {
        let read = |bytes: &[u8]| {
            let mut text = String::new();
            let mut reader = Utf8Reader::new(bytes, TextEncoding::Windows1252);
            reader.read_to_string(&mut text).map(|_| text)
        };
        assert_eq!(read(b"\x80 \x84\x93 \x96 \xe4 a").unwrap(), "€ „“ – ä a");
        for byte in 0..=u8::MAX {
            assert_eq!(read(&[byte]).is_err(), UNDEFINED_BYTES.contains(&byte));
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
            for encoding in [TextEncoding::Utf16Le, TextEncoding::Utf16Be] {
                let bytes: Vec<u8> = units
                    .iter()
                    .flat_map(|unit| match encoding {
                        TextEncoding::Utf16Le => unit.to_le_bytes(),
                        _ => unit.to_be_bytes(),
                    })
                    .collect();
                let mut text = String::new();
                let mut reader = Utf8Reader::new(Slow(&bytes, 3 + round % 5), encoding);
                reader.read_to_string(&mut text).unwrap();
                assert!(text == whole, "{units:x?}");
                assert_eq!(reader.read(&mut [0; 9]).unwrap(), 0);
                // An incomplete unit at the end becomes U+FFFD, together with an unpaired surrogate before it.
                let odd = [&bytes, b"x".as_slice()].concat();
                let mut text = String::new();
                Utf8Reader::new(Slow(&odd, 3 + round % 5), encoding)
                    .read_to_string(&mut text)
                    .unwrap();
                let is_alone = matches!(units.last(), Some(0xd800..0xdc00));
                let end = if is_alone { "" } else { "\u{fffd}" };
                assert_eq!(text, format!("{whole}{end}"), "{units:x?}");
            }
        }
    }
}
