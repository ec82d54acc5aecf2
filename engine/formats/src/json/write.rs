//! Writes JSON as `json.dump` does, without a line break at the end.

use std::io::{self, Write};

use super::escape::run;
use super::{JsonObject, JsonString, JsonValue};
use crate::pandas::push_f64;
use prep_failure::Quoted;

/// Options for writing. The defaults are those of `json.dump`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// Number of spaces per level; each element is then on a line of its own. `None` writes one line.
    pub indent: Option<usize>,
    /// Whether the keys of each object are sorted by code points.
    pub sort_keys: bool,
    /// The separators after elements and after keys. `None` means `", "` (`","` with an indent) and `": "`.
    pub separators: Option<(String, String)>,
    /// Whether characters outside ASCII are written as `\uXXXX`.
    pub ensure_ascii: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            indent: None,
            sort_keys: false,
            separators: None,
            ensure_ascii: true,
        }
    }
}

/// The error if a value cannot be written as JSON.
#[derive(Debug, thiserror::Error)]
pub enum JsonWriteError {
    /// A string contains an unpaired surrogate, which UTF-8 cannot encode.
    #[error(
        "the string {text} contains an unpaired surrogate, which UTF-8 cannot encode; write with `ensure_ascii`", text = Quoted(.text))]
    LoneSurrogate {
        /// The string, with U+FFFD in place of the surrogate.
        text: String,
    },
    /// An I/O error.
    #[error("writing JSON failed")]
    Io(#[from] io::Error),
}

/// Buffered text is passed to the output when it exceeds this number of bytes.
const FLUSH_BYTES: usize = 64 * 1024;

impl JsonValue {
    /// Writes the value to `out`.
    ///
    /// # Errors
    /// [`JsonWriteError`] if writing fails, or a string cannot be encoded.
    pub fn write(
        &self,
        out: &mut impl Write,
        options: &WriteOptions,
    ) -> Result<(), JsonWriteError> {
        let mut printer = Printer::new(out, options);
        printer.value(self, 0)?;
        printer.out.write_all(&printer.text)?;
        Ok(())
    }

    /// Returns the value as text.
    ///
    /// # Errors
    /// [`JsonWriteError::LoneSurrogate`] if a string cannot be encoded.
    pub fn to_json(&self, options: &WriteOptions) -> Result<Vec<u8>, JsonWriteError> {
        let mut text = Vec::new();
        self.write(&mut text, options)?;
        Ok(text)
    }
}

/// The state of writing a value.
struct Printer<'a, W: Write> {
    out: &'a mut W,
    options: &'a WriteOptions,
    /// Text that is not yet passed to the output.
    text: Vec<u8>,
    comma: &'a [u8],
    colon: &'a [u8],
}

impl<'a, W: Write> Printer<'a, W> {
    fn new(out: &'a mut W, options: &'a WriteOptions) -> Self {
        let (comma, colon): (&str, &str) = match (&options.separators, options.indent) {
            (Some((comma, colon)), _) => (comma, colon),
            (None, None) => (", ", ": "),
            (None, Some(_)) => (",", ": "),
        };
        Self {
            out,
            options,
            text: Vec::new(),
            comma: comma.as_bytes(),
            colon: colon.as_bytes(),
        }
    }

    fn value(&mut self, value: &JsonValue, level: usize) -> Result<(), JsonWriteError> {
        match value {
            JsonValue::Null => self.text.extend_from_slice(b"null"),
            JsonValue::Bool(true) => self.text.extend_from_slice(b"true"),
            JsonValue::Bool(false) => self.text.extend_from_slice(b"false"),
            JsonValue::Int(int) => {
                self.text
                    .extend_from_slice(itoa::Buffer::new().format(*int).as_bytes());
            }
            JsonValue::BigInt(digits) => self.text.extend_from_slice(digits.as_bytes()),
            JsonValue::Float(float) => push_float(&mut self.text, *float),
            JsonValue::String(text) => self.string(text)?,
            JsonValue::List(list) => self.list(list, level)?,
            JsonValue::Object(object) => self.object(object, level)?,
        }
        if self.text.len() >= FLUSH_BYTES {
            self.out.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    fn list(&mut self, list: &[JsonValue], level: usize) -> Result<(), JsonWriteError> {
        self.text.push(b'[');
        for (index, value) in list.iter().enumerate() {
            self.separate(index, level + 1);
            self.value(value, level + 1)?;
        }
        if !list.is_empty() {
            self.line_break(level);
        }
        self.text.push(b']');
        Ok(())
    }

    fn object(&mut self, object: &JsonObject, level: usize) -> Result<(), JsonWriteError> {
        self.text.push(b'{');
        let mut entries: Vec<_> = object.iter().collect();
        if self.options.sort_keys {
            entries.sort_by_key(|(key, _)| *key);
        }
        for (index, (key, value)) in entries.into_iter().enumerate() {
            self.separate(index, level + 1);
            self.string(key)?;
            self.text.extend_from_slice(self.colon);
            self.value(value, level + 1)?;
        }
        if !object.is_empty() {
            self.line_break(level);
        }
        self.text.push(b'}');
        Ok(())
    }

    /// Writes the separator and line break before the element `index`.
    fn separate(&mut self, index: usize, level: usize) {
        if index > 0 {
            self.text.extend_from_slice(self.comma);
        }
        self.line_break(level);
    }

    fn line_break(&mut self, level: usize) {
        if let Some(indent) = self.options.indent {
            self.text.push(b'\n');
            self.text.resize(self.text.len() + indent * level, b' ');
        }
    }

    fn string(&mut self, text: &JsonString) -> Result<(), JsonWriteError> {
        if !self.options.ensure_ascii && text.as_str().is_none() {
            return Err(JsonWriteError::LoneSurrogate {
                text: text.to_string_lossy().into_owned(),
            });
        }
        let ascii = self.options.ensure_ascii;
        push_escaped(&mut self.text, text, |byte| special(byte, ascii));
        Ok(())
    }
}

/// Appends a double as Python's `json` formats it.
pub(super) fn push_float(out: &mut Vec<u8>, float: f64) {
    if float.is_nan() {
        out.extend_from_slice(b"NaN");
    } else if float.is_infinite() {
        out.extend_from_slice(if float > 0.0 {
            b"Infinity"
        } else {
            b"-Infinity"
        });
    } else {
        push_f64(out, float);
    }
}

/// Returns a nonzero value if the byte is the first byte of a character that is escaped. With `ascii`, these are all
/// characters outside the range from space to `~`, including U+007F. Otherwise they are only the characters that JSON
/// does not allow unescaped.
pub(super) fn special(byte: u8, ascii: bool) -> u8 {
    let required = u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
    required | u8::from(byte >= 0x7f) & u8::from(ascii)
}

/// Appends `text` in quotes. A character is escaped if `special` returns a nonzero value for its first byte.
pub(super) fn push_escaped(out: &mut Vec<u8>, text: &JsonString, special: impl Fn(u8) -> u8) {
    out.push(b'"');
    let mut rest = text.as_wtf8();
    while !rest.is_empty() {
        let (plain, tail) = rest.split_at(run(rest, &special));
        out.extend_from_slice(plain);
        rest = tail;
        if let Some((code_point, length)) = first_code_point(tail) {
            push_escape(out, code_point);
            rest = tail.get(length..).unwrap_or_default();
        }
    }
    out.push(b'"');
}

/// Decodes the code point at the beginning of `wtf8`. Returns the code point and its length in bytes.
pub(super) fn first_code_point(wtf8: &[u8]) -> Option<(u32, usize)> {
    let lead = *wtf8.first()?;
    let (length, high) = match lead {
        0..0x80 => (1, lead),
        0x80..0xe0 => (2, lead & 0x1f),
        0xe0..0xf0 => (3, lead & 0x0f),
        0xf0.. => (4, lead & 0x07),
    };
    let tail = wtf8.get(1..length).unwrap_or_default();
    let code_point = tail.iter().fold(u32::from(high), |value, byte| {
        value << 6 | u32::from(byte & 0x3f)
    });
    Some((code_point, length))
}

/// Appends the escape sequence of a code point. Above U+FFFF, this is a surrogate pair.
pub(super) fn push_escape(out: &mut Vec<u8>, code_point: u32) {
    let short: &[u8] = match code_point {
        0x08 => b"\\b",
        0x09 => b"\\t",
        0x0a => b"\\n",
        0x0c => b"\\f",
        0x0d => b"\\r",
        0x22 => b"\\\"",
        0x2f => b"\\/",
        0x5c => b"\\\\",
        0..0x1_0000 => return push_u(out, code_point),
        _ => {
            let offset = code_point - 0x1_0000;
            push_u(out, 0xd800 | offset >> 10);
            return push_u(out, 0xdc00 | offset & 0x3ff);
        }
    };
    out.extend_from_slice(short);
}

fn push_u(out: &mut Vec<u8>, unit: u32) {
    out.extend_from_slice(b"\\u");
    for shift in [12, 8, 4, 0] {
        let digit = char::from_digit(unit >> shift & 0xf, 16).unwrap_or('0');
        out.extend_from_slice(digit.encode_utf8(&mut [0; 4]).as_bytes());
    }
}
