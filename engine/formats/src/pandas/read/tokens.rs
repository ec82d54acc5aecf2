//! Splits a raw row into fields, like pandas' C parser.
//!
//! A field is quoted only if its first character is a quote. Text after the closing quote is appended to the content. A
//! quote inside an unquoted field is an ordinary character. CR, LF and CRLF outside quotes end a row.

use std::borrow::Cow;

use memchr::memchr;

use crate::pandas::read::field_ends::FieldEnds;

/// The relation between the bytes of a field and its content.
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

/// The range of a field in its row, and its form.
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

/// Appends the result of [`unquote`] to `content`.
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

/// The end of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowEnd {
    /// LF. The next row begins at `next`.
    Lf { next: usize },
    /// CR, CRLF or the end of the file. The next row begins at `next`.
    Other { next: usize },
    /// The buffer ends before the row.
    Incomplete,
    /// The file ends inside quotes.
    Unclosed,
}

/// Splits the row at the beginning of `text` into `fields`. `last` means that `text` is the end of the file.
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
