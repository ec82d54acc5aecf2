//! One raw row into fields: the dialect that pandas' C parser reads.
//!
//! A field is quoted only when the quote is its first character; what follows the closing quote is appended, and a
//! quote inside an unquoted field is an ordinary character. CR, LF and CRLF end a row outside quotes.

use std::borrow::Cow;

use memchr::memchr;

use crate::pandas::read::stops::Stops;

/// How the raw bytes of a field relate to its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The bytes are the content.
    Plain,
    /// Quotes around the content, none inside.
    Quoted,
    /// Quotes around the content and doubled quotes inside.
    Doubled,
    /// Something follows the closing quote.
    Trailing,
}

/// A field: a stretch of its row and how to read it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub start: u32,
    pub end: u32,
    pub form: Form,
}

impl Field {
    /// The raw bytes, with quotes.
    #[inline]
    pub fn raw<'a>(&self, row: &'a [u8]) -> &'a [u8] {
        row.get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }

    /// The content, without quotes.
    pub fn content<'a>(&self, row: &'a [u8]) -> Cow<'a, [u8]> {
        let raw = self.raw(row);
        match self.form {
            Form::Plain => Cow::Borrowed(raw),
            Form::Quoted => {
                Cow::Borrowed(raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default())
            }
            Form::Doubled | Form::Trailing => Cow::Owned(unquote(raw)),
        }
    }
}

/// Removes the opening quote, halves doubled quotes, drops the closing one and keeps what follows it.
pub(crate) fn unquote(raw: &[u8]) -> Vec<u8> {
    let mut content = Vec::with_capacity(raw.len());
    unquote_into(&mut content, raw);
    content
}

/// Appends what [`unquote`] gives.
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

/// How a row ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowEnd {
    /// LF; the next row starts at `next`.
    Lf { next: usize },
    /// CR, CRLF or the end of the file; the next row starts at `next`.
    Other { next: usize },
    /// The buffer ends before the row does.
    Incomplete,
    /// The file ends inside quotes.
    Unclosed,
}

/// Splits the row at the start of `text` into `fields`. `last` says that no further bytes follow `text`.
pub(crate) fn split_row(text: &[u8], delimiter: u8, last: bool, fields: &mut Vec<Field>) -> RowEnd {
    fields.clear();
    let mut stops = Stops::new(text, delimiter);
    let mut start = 0;
    loop {
        let mut form = Form::Plain;
        let mut from = start;
        if text.get(start) == Some(&b'"') {
            form = Form::Quoted;
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
                        form = Form::Doubled;
                        from += 1;
                    }
                    Some(&byte) => {
                        if byte != delimiter && byte != b'\n' && byte != b'\r' {
                            form = Form::Trailing;
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
