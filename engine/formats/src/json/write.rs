//! Writes JSON as `json.dump` does, without a line break at the end.

use std::io::{self, Write};
use std::marker::PhantomData;

use super::escape::run;
use super::{JsonObject, JsonString, JsonValue};
use crate::pandas::push_f64;
use prep_failure::Quoted;

/// Options for writing. The defaults are those of `json.dump`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// Number of spaces per level, with each element on its own line. `None` writes one line.
    pub indent: Option<usize>,
    /// Whether the keys of each object are sorted by code points.
    pub sort_keys: bool,
    /// The separators after elements and after keys. `None` means `", "` (with an indent `","`) and `": "`.
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

/// A value cannot be written as JSON.
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

/// 10^10, because `to_json` writes ten fraction digits (`double_precision=10`).
const SCALE: f64 = 1e10;

/// When the collected text has this number of bytes, it is written to the output.
const FLUSH_BYTES: usize = 64 * 1024;

impl JsonValue {
    /// Writes the value to `out`.
    pub fn write(
        &self,
        out: &mut impl Write,
        options: &WriteOptions,
    ) -> Result<(), JsonWriteError> {
        let text = match options.ensure_ascii {
            true => Printer::<Python>::new(Some(out), options).print(self),
            false => Printer::<Unicode>::new(Some(out), options).print(self),
        };
        Ok(out.write_all(&text?)?)
    }

    /// Returns the value as text.
    pub fn to_json(&self, options: &WriteOptions) -> Result<Vec<u8>, JsonWriteError> {
        let mut text = Vec::new();
        self.write(&mut text, options)?;
        Ok(text)
    }

    /// Appends the value as `DataFrame.to_json` formats it.
    pub fn push_pandas(&self, out: &mut Vec<u8>) -> Result<(), JsonWriteError> {
        let options = WriteOptions::default();
        let mut printer = Printer::<Pandas>::new(None, &options);
        printer.text = std::mem::take(out);
        let printed = printer.value(self, 0);
        *out = printer.text;
        printed
    }
}

/// The format of a JSON writer.
pub(super) trait Style {
    /// The separator after an element.
    const COMMA: &'static str;
    /// The separator after a key.
    const COLON: &'static str;
    /// Whether a string may contain unpaired surrogates. They are written as escape sequences.
    const ALLOWS_UNPAIRED: bool;

    /// Returns a nonzero value for the first byte of a character that the style escapes.
    fn special(byte: u8) -> u8;

    /// Appends a double, which may be NaN or infinite.
    fn push_float(out: &mut Vec<u8>, value: f64);
}

/// The style of `json.dump`. All characters outside the range from space to `~` are escaped, including U+007F.
pub(super) struct Python;

impl Style for Python {
    const COMMA: &'static str = ", ";
    const COLON: &'static str = ": ";
    const ALLOWS_UNPAIRED: bool = true;

    fn special(byte: u8) -> u8 {
        Unicode::special(byte) | u8::from(byte >= 0x7f)
    }

    fn push_float(out: &mut Vec<u8>, value: f64) {
        if value.is_nan() {
            out.extend_from_slice(b"NaN");
        } else if value.is_infinite() {
            let sign = if value > 0.0 { "" } else { "-" };
            out.extend_from_slice(sign.as_bytes());
            out.extend_from_slice(b"Infinity");
        } else {
            push_f64(out, value);
        }
    }
}

/// The style of `json.dump(ensure_ascii=False)`. Only characters that JSON requires to be escaped are escaped.
struct Unicode;

impl Style for Unicode {
    const COMMA: &'static str = Python::COMMA;
    const COLON: &'static str = Python::COLON;
    const ALLOWS_UNPAIRED: bool = false;

    fn special(byte: u8) -> u8 {
        u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\')
    }

    fn push_float(out: &mut Vec<u8>, value: f64) {
        Python::push_float(out, value);
    }
}

/// The style of `to_json`: no spaces, up to ten decimals, `null` for NaN and infinities. `/` and all characters outside
/// ASCII are escaped.
pub(super) struct Pandas;

impl Style for Pandas {
    const COMMA: &'static str = ",";
    const COLON: &'static str = ":";
    const ALLOWS_UNPAIRED: bool = false;

    fn special(byte: u8) -> u8 {
        let marks = u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte == b'/');
        marks | u8::from(byte < 0x20) | u8::from(byte >= 0x80)
    }

    fn push_float(out: &mut Vec<u8>, value: f64) {
        if !value.is_finite() {
            out.extend_from_slice(b"null");
            return;
        }
        let size = value.abs();
        if size > 1e16 - 1.0 || (size > 0.0 && size < 1e-15) {
            out.extend_from_slice(ten_digits(value).as_bytes());
            return;
        }
        let mut integer_part = size.trunc();
        let scaled = (size - integer_part) * SCALE;
        let mut fraction = scaled.trunc();
        let rest = scaled - fraction;
        // As in ujson, a fraction exactly between two integers is rounded up if the lower integer is odd or zero.
        if rest > 0.5 || rest == 0.5 && (fraction == 0.0 || fraction % 2.0 == 1.0) {
            fraction += 1.0;
        }
        if fraction >= SCALE {
            fraction = 0.0;
            integer_part += 1.0;
        }
        let digits = format!("{fraction:010}");
        let digits = digits.trim_end_matches('0');
        let sign = if value < 0.0 { "-" } else { "" };
        let digits = if digits.is_empty() { "0" } else { digits };
        out.extend_from_slice(format!("{sign}{integer_part}.{digits}").as_bytes());
    }
}

/// Formats a number like C's `%.10g` in exponential notation.
fn ten_digits(value: f64) -> String {
    let printed = format!("{value:.9e}");
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((&printed, "0"));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// Writes values in the style `S`.
struct Printer<'a, S> {
    /// The output for long texts, which are written in parts. `None` keeps the entire text in `text`.
    out: Option<&'a mut dyn Write>,
    options: &'a WriteOptions,
    text: Vec<u8>,
    comma: &'a str,
    colon: &'a str,
    style: PhantomData<S>,
}

impl<'a, S: Style> Printer<'a, S> {
    fn new(out: Option<&'a mut dyn Write>, options: &'a WriteOptions) -> Self {
        let (comma, colon): (&str, &str) = match (&options.separators, options.indent) {
            (Some((comma, colon)), _) => (comma, colon),
            (None, None) => (S::COMMA, S::COLON),
            (None, Some(_)) => (",", ": "),
        };
        Self {
            out,
            options,
            text: Vec::new(),
            comma,
            colon,
            style: PhantomData,
        }
    }

    /// Writes a value to the output. Returns the last part of the text, which the caller must write.
    fn print(mut self, value: &JsonValue) -> Result<Vec<u8>, JsonWriteError> {
        self.value(value, 0)?;
        Ok(self.text)
    }

    fn value(&mut self, value: &JsonValue, level: usize) -> Result<(), JsonWriteError> {
        match value {
            JsonValue::Null => self.push("null"),
            JsonValue::Bool(true) => self.push("true"),
            JsonValue::Bool(false) => self.push("false"),
            JsonValue::Int(int) => self.push(itoa::Buffer::new().format(*int)),
            JsonValue::BigInt(digits) => self.push(digits),
            JsonValue::Float(float) => S::push_float(&mut self.text, *float),
            JsonValue::String(text) => self.string(text)?,
            JsonValue::List(list) => self.list(list, level)?,
            JsonValue::Object(object) => self.object(object, level)?,
        }
        if self.text.len() >= FLUSH_BYTES
            && let Some(out) = &mut self.out
        {
            out.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    fn push(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
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
            self.push(self.colon);
            self.value(value, level + 1)?;
        }
        if !object.is_empty() {
            self.line_break(level);
        }
        self.text.push(b'}');
        Ok(())
    }

    /// Writes the separator before the element with this index. It is a comma (not before the first element) and a line
    /// break.
    fn separate(&mut self, index: usize, level: usize) {
        if index > 0 {
            self.push(self.comma);
        }
        self.line_break(level);
    }

    /// If elements are on separate lines, writes a line break and the indentation of this level.
    fn line_break(&mut self, level: usize) {
        if let Some(indent) = self.options.indent {
            self.text.push(b'\n');
            self.text.resize(self.text.len() + indent * level, b' ');
        }
    }

    fn string(&mut self, text: &JsonString) -> Result<(), JsonWriteError> {
        if !S::ALLOWS_UNPAIRED && text.as_str().is_none() {
            return Err(JsonWriteError::LoneSurrogate {
                text: text.to_string_lossy().into_owned(),
            });
        }
        push_escaped(&mut self.text, text, S::special);
        Ok(())
    }
}

/// Appends a string in quotes. Escapes the characters for whose first byte `special` returns a nonzero value.
fn push_escaped(out: &mut Vec<u8>, text: &JsonString, special: impl Fn(u8) -> u8) {
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

/// Returns the first code point of a WTF-8 text, and its length in bytes.
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

/// Appends `\uXXXX` for a UTF-16 code unit.
fn push_u(out: &mut Vec<u8>, unit: u32) {
    out.extend_from_slice(b"\\u");
    for shift in [12, 8, 4, 0] {
        let digit = char::from_digit(unit >> shift & 0xf, 16).unwrap_or('0');
        out.extend_from_slice(digit.encode_utf8(&mut [0; 4]).as_bytes());
    }
}
