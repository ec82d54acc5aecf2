//! Decodes strings and their escape sequences.

use super::value::push_code_point;
use super::{JsonErrorKind, JsonString};

/// Decodes a string. `text` must begin after the opening quote. Returns the string, and its length in `text` including the
/// closing quote.
///
/// An error contains the offset of the mistake in `text`, or `None` if the closing quote is missing.
pub(super) fn read(text: &[u8]) -> Result<(JsonString, usize), (JsonErrorKind, Option<usize>)> {
    let mut offset = plain(text, 0);
    if text.get(offset) == Some(&b'"') {
        // Most strings have no escapes and are copied at once.
        let bytes = text.get(..offset).unwrap_or_default();
        return Ok((JsonString::from_wtf8(bytes), offset + 1));
    }
    let mut bytes = text.get(..offset).unwrap_or_default().to_vec();
    loop {
        match text.get(offset) {
            Some(b'"') => return Ok((JsonString::from_wtf8(&bytes), offset + 1)),
            Some(b'\\') => {
                let rest = text.get(offset..).unwrap_or_default();
                let (decoded, length) = code_point(rest).map_err(|kind| (kind, Some(offset)))?;
                push_code_point(&mut bytes, decoded);
                offset += length;
            }
            Some(_) => return Err((JsonErrorKind::ControlCharacter, Some(offset))),
            None => return Err((JsonErrorKind::OpenString, None)),
        }
        let end = plain(text, offset);
        bytes.extend_from_slice(text.get(offset..end).unwrap_or_default());
        offset = end;
    }
}

/// Decodes a string like [`read`], but with the rules of ujson.
///
/// - All control characters except NUL are allowed.
/// - If a `\u` escape is the first half of a surrogate pair, the next `\u` escape must be the second half. If the string
///   contains no further `\u` escape, the first half is dropped.
/// - A second half without a first half is kept.
pub(super) fn read_ujson(
    text: &[u8],
) -> Result<(JsonString, usize), (JsonErrorKind, Option<usize>)> {
    let is_special = |byte| u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte == 0);
    let (mut offset, mut bytes, mut high) = (0, Vec::new(), None);
    loop {
        let rest = text.get(offset..).unwrap_or_default();
        let plain = rest.get(..run(rest, is_special)).unwrap_or_default();
        bytes.extend_from_slice(plain);
        offset += plain.len();
        match text.get(offset) {
            Some(b'"') => return Ok((JsonString::from_wtf8(&bytes), offset + 1)),
            Some(b'\\') => {}
            Some(_) => return Err((JsonErrorKind::ControlCharacter, Some(offset))),
            None => return Err((JsonErrorKind::OpenString, None)),
        }
        let rest = text.get(offset..).unwrap_or_default();
        let escape = offset;
        let failed = |kind| (kind, Some(escape));
        if rest.get(1) != Some(&b'u') {
            let (code_point, length) = code_point(rest).map_err(failed)?;
            push_code_point(&mut bytes, code_point);
            offset += length;
            continue;
        }
        let code_point = hex4(rest, 2).ok_or(failed(JsonErrorKind::InvalidEscape))?;
        offset += 6;
        match (high.take(), code_point) {
            (Some(high), 0xdc00..=0xdfff) => {
                push_code_point(&mut bytes, pair(high, code_point));
            }
            (Some(_), _) => return Err(failed(JsonErrorKind::HalfPair)),
            (None, 0xd800..=0xdbff) => high = Some(code_point),
            (None, _) => push_code_point(&mut bytes, code_point),
        }
    }
}

/// Returns the code point that a surrogate pair encodes.
fn pair(high: u32, low: u32) -> u32 {
    0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)
}

/// Returns the offset of the first quote, backslash or control character from the offset `from` on.
fn plain(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + run(rest, |byte| {
        u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\')
    })
}

/// Returns the number of bytes before the first byte for which `special` is not 0.
///
/// The compiler vectorizes the arithmetic on chunks, which is eight times as fast as a branch per byte.
pub(super) fn run(text: &[u8], special: impl Fn(u8) -> u8) -> usize {
    let (chunks, _) = text.as_chunks::<32>();
    let is_special = |chunk: &[u8; 32]| chunk.iter().fold(0, |any, byte| any | special(*byte)) != 0;
    let plain_chunks = chunks.iter().position(is_special).unwrap_or(chunks.len());
    let from = 32 * plain_chunks;
    let rest = text.get(from..).unwrap_or_default();
    let within = rest.iter().position(|byte| special(*byte) != 0);
    from + within.unwrap_or(rest.len())
}

/// Decodes the escape sequence at the beginning of `text`. Returns its code point, and its length in bytes.
pub(super) fn code_point(text: &[u8]) -> Result<(u32, usize), JsonErrorKind> {
    let simple = match text.get(1) {
        Some(b'u') => return unicode(text),
        Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
        Some(b'b') => 0x08,
        Some(b'f') => 0x0c,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(_) => return Err(JsonErrorKind::InvalidEscape),
        None => return Err(JsonErrorKind::OpenString),
    };
    Ok((simple.into(), 2))
}

/// Decodes `\uXXXX`, or two of them that form a surrogate pair. Keeps an unpaired surrogate.
fn unicode(text: &[u8]) -> Result<(u32, usize), JsonErrorKind> {
    let first = hex4(text, 2).ok_or(JsonErrorKind::InvalidEscape)?;
    if (0xd800..0xdc00).contains(&first)
        && text.get(6..8) == Some(b"\\u")
        && let Some(second @ 0xdc00..=0xdfff) = hex4(text, 8)
    {
        return Ok((pair(first, second), 12));
    }
    Ok((first, 6))
}

/// Parses four hexadecimal digits.
fn hex4(text: &[u8], from: usize) -> Option<u32> {
    let digits = text.get(from..from + 4)?;
    digits.iter().try_fold(0, |value, digit| {
        Some(value << 4 | char::from(*digit).to_digit(16)?)
    })
}

/// A position in a text in memory.
pub(super) struct TextCursor<'a> {
    pub text: &'a [u8],
    pub offset: usize,
}

impl<'a> TextCursor<'a> {
    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.offset).copied()
    }

    pub fn rest(&self) -> &'a [u8] {
        self.text.get(self.offset..).unwrap_or_default()
    }

    pub fn skip_spaces(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.offset += 1;
        }
    }

    /// Skips whitespace, and `byte` if it follows. Returns whether `byte` was skipped.
    pub fn accept(&mut self, byte: u8) -> bool {
        self.skip_spaces();
        let is_next = self.peek() == Some(byte);
        self.offset += usize::from(is_next);
        is_next
    }

    /// Skips whitespace, and a comma or `end`. Returns whether `end` was skipped, or `None` if neither follows.
    pub fn comma_or(&mut self, end: u8) -> Option<bool> {
        let ended = self.accept(end);
        (ended || self.accept(b',')).then_some(ended)
    }
}
