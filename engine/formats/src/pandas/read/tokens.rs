//! Splits a raw row into fields, like pandas' C parser.
//!
//! - A field is quoted only if its first character is a quote. Text after the closing quote is appended to the content.
//! - A quote inside an unquoted field is an ordinary character. CR, LF and CRLF outside quotes end a row.
//! - [`FieldEnds`] finds all ends of fields in a block of 64 bytes at once, and stores them as the bits of an integer.
//!   This is faster than a search for each end.

use std::borrow::Cow;

use memchr::{memchr, memchr3};

/// How the bytes of a field encode its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldForm {
    /// The bytes are the content.
    Plain,
    /// Quotes enclose the content, which contains no quotes.
    Quoted,
    /// Quotes enclose the content, which contains doubled quotes.
    Doubled,
    /// Text follows the closing quote.
    Trailing,
}

/// A field: its offsets in the row, including quotes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub start: u32,
    pub end: u32,
    pub form: FieldForm,
}

impl Field {
    /// Returns the bytes of the field, including quotes.
    #[inline]
    pub fn raw<'a>(&self, row: &'a [u8]) -> &'a [u8] {
        row.get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }

    /// Returns the content of the field, without quotes.
    pub fn content<'a>(&self, row: &'a [u8]) -> Cow<'a, [u8]> {
        let raw = self.raw(row);
        match self.form {
            FieldForm::Plain => Cow::Borrowed(raw),
            FieldForm::Quoted => {
                Cow::Borrowed(raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default())
            }
            FieldForm::Doubled | FieldForm::Trailing => Cow::Owned(unquote(raw)),
        }
    }
}

/// Removes the enclosing quotes, halves doubled quotes, and keeps the text after the closing quote.
pub(crate) fn unquote(raw: &[u8]) -> Vec<u8> {
    let mut content = Vec::with_capacity(raw.len());
    unquote_into(&mut content, raw);
    content
}

/// Like [`unquote`], but appends to `content`.
pub(crate) fn unquote_into(content: &mut Vec<u8>, raw: &[u8]) {
    let mut rest = raw.get(1..).unwrap_or_default();
    while let Some(at) = memchr(b'"', rest) {
        content.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        if rest.first() == Some(&b'"') {
            content.push(b'"');
            rest = &rest[1..];
        } else {
            break;
        }
    }
    content.extend_from_slice(rest);
}

/// How a row ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowEnd {
    /// LF. The next row begins at `next`.
    Lf { next: usize },
    /// CR, CRLF or the end of the file. The next row begins at `next`.
    Other { next: usize },
    /// The buffer ends before the end of the row.
    Incomplete,
    /// The file ends inside quotes.
    Unclosed,
}

/// Splits the row at the beginning of `text` into `fields`. `last` means that `text` ends the file.
pub(crate) fn split_row(text: &[u8], delimiter: u8, last: bool, fields: &mut Vec<Field>) -> RowEnd {
    fields.clear();
    let mut stops = FieldEnds::new(text, delimiter);
    let mut start = 0;
    loop {
        let mut form = FieldForm::Plain;
        let mut from = start;
        if text.get(start) == Some(&b'"') {
            form = FieldForm::Quoted;
            from = start + 1;
            loop {
                let Some(at) = text.get(from..).and_then(|rest| memchr(b'"', rest)) else {
                    return if last {
                        RowEnd::Unclosed
                    } else {
                        RowEnd::Incomplete
                    };
                };
                from += at + 1;
                match text.get(from) {
                    Some(b'"') => {
                        form = FieldForm::Doubled;
                        from += 1;
                    }
                    Some(&byte) => {
                        if byte != delimiter && byte != b'\n' && byte != b'\r' {
                            form = FieldForm::Trailing;
                        }
                        break;
                    }
                    None if last => break,
                    None => return RowEnd::Incomplete,
                }
            }
        }
        let end = match stops.next(from) {
            Some(at) => at,
            None if last => text.len(),
            None => return RowEnd::Incomplete,
        };
        fields.push(Field {
            start: start as u32,
            end: end as u32,
            form,
        });
        match text.get(end) {
            Some(b'\n') => return RowEnd::Lf { next: end + 1 },
            Some(b'\r') => {
                return match text.get(end + 1) {
                    Some(b'\n') => RowEnd::Other { next: end + 2 },
                    None if !last => RowEnd::Incomplete,
                    _ => RowEnd::Other { next: end + 1 },
                };
            }
            Some(_) => start = end + 1,
            None => return RowEnd::Other { next: end },
        }
    }
}

const BLOCK_BYTES: usize = 64;

/// Finds the bytes that end a field: the delimiter, CR and LF.
pub(crate) struct FieldEnds<'a> {
    text: &'a [u8],
    delimiter: u8,
    /// Offset of the current block in `text`.
    block: usize,
    /// One bit for each byte of the block. The bit is set if a field ends at this byte. The lowest bit belongs to the
    /// first byte.
    marks: u64,
}

impl<'a> FieldEnds<'a> {
    pub fn new(text: &'a [u8], delimiter: u8) -> Self {
        let marks = marks_at(text, 0, delimiter);
        Self {
            text,
            delimiter,
            block: 0,
            marks,
        }
    }

    /// Returns the offset of the first end at or after `from`.
    #[inline]
    pub fn next(&mut self, from: usize) -> Option<usize> {
        let within = from.wrapping_sub(self.block);
        if within < BLOCK_BYTES {
            let rest = self.marks >> within;
            if rest != 0 {
                return Some(from + rest.trailing_zeros() as usize);
            }
        }
        self.next_block(from)
    }

    /// Like [`next`](Self::next). The current block must contain no end from `from` on.
    fn next_block(&mut self, from: usize) -> Option<usize> {
        let within = from.wrapping_sub(self.block) < BLOCK_BYTES;
        self.block = if within {
            self.block + BLOCK_BYTES
        } else {
            from
        };
        self.marks = marks_at(self.text, self.block, self.delimiter);
        if self.marks != 0 {
            return Some(self.block + self.marks.trailing_zeros() as usize);
        }
        let long = self.text.get(self.block + BLOCK_BYTES..)?;
        let at = self.block + BLOCK_BYTES + memchr3(self.delimiter, b'\n', b'\r', long)?;
        self.block = at;
        self.marks = marks_at(self.text, at, self.delimiter);
        Some(at)
    }
}

/// Returns the marks of the block at offset `at`, which may extend beyond the end of the text.
fn marks_at(text: &[u8], at: usize, delimiter: u8) -> u64 {
    let rest = text.get(at..).unwrap_or_default();
    match rest.first_chunk::<BLOCK_BYTES>() {
        Some(block) => marks(block, delimiter),
        None => {
            // Bits after the end of the text are cleared, because the delimiter might be NUL.
            let mut block = [0; BLOCK_BYTES];
            block[..rest.len()].copy_from_slice(rest);
            marks(&block, delimiter) & !(u64::MAX << rest.len())
        }
    }
}

/// Returns an integer with one bit for each byte of the block. A bit is set if a field ends at its byte.
///
/// The loop is vectorized. One multiplication combines eight bytes of 0 or 1 into eight bits in the highest byte.
#[inline]
fn marks(block: &[u8; BLOCK_BYTES], delimiter: u8) -> u64 {
    const JOIN: u64 = 0x0102_0408_1020_4080;
    let mut hits = [0; BLOCK_BYTES];
    for (hit, byte) in hits.iter_mut().zip(block) {
        *hit = u8::from(*byte == delimiter) | u8::from(*byte == b'\n') | u8::from(*byte == b'\r');
    }
    let (eights, _) = hits.as_chunks::<8>();
    let bits = eights
        .iter()
        .map(|eight| u64::from_le_bytes(*eight).wrapping_mul(JOIN) >> 56);
    bits.rev().fold(0, |all, eight| all << 8 | eight)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The iterator finds the same ends as consecutive searches, even if some ends are skipped.
        #[test]
        fn field_ends_equal_consecutive_searches(text in r#"([0-9a]{0,3}[,\n\r]|[a-z\x00]{0,200},|;){0,40}"#, jumps in prop::collection::vec(1usize..90, 0..60)) {
            let text = text.as_bytes();
            let mut stops = FieldEnds::new(text, b',');
            let (mut from, mut jumps) = (0, jumps.into_iter());
            while from <= text.len() {
                let expected = memchr3(b',', b'\n', b'\r', &text[from..]).map(|at| from + at);
                prop_assert_eq!(stops.next(from), expected);
                let Some(at) = expected else { break };
                from = at + jumps.next().unwrap_or(1);
            }
        }
    }
}
