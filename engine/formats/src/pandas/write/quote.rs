//! Quotes fields as Python 3.11's `csv` module does.

use memchr::{memchr, memchr3};

/// Whether a field needs quotes. A lone CR needs none, because Python 3.11 only checks for the line terminator, which
/// is LF.
pub(crate) fn needs_quotes(content: &[u8], delimiter: u8) -> bool {
    memchr3(delimiter, b'"', b'\n', content).is_some()
}

/// Appends a field, with quotes if it needs them.
pub(crate) fn push_minimal(out: &mut Vec<u8>, content: &[u8], delimiter: u8) {
    if needs_quotes(content, delimiter) {
        push_quoted(out, content);
    } else {
        out.extend_from_slice(content);
    }
}

/// Appends the header line. Returns the number of names.
pub(crate) fn push_header<'a>(out: &mut Vec<u8>, names: impl Iterator<Item = &'a str>) -> usize {
    let mut count = 0;
    for name in names {
        if count > 0 {
            out.push(b',');
        }
        push_minimal(out, name.as_bytes(), b',');
        count += 1;
    }
    out.push(b'\n');
    count
}

/// Ends a line of `count` fields that begins at `start`. As in Python, an empty field that is the only field of its row
/// becomes `""`.
#[inline]
pub(crate) fn end_line(out: &mut Vec<u8>, start: usize, count: usize) {
    if out.len() == start && count == 1 {
        out.extend_from_slice(b"\"\"");
    }
    out.push(b'\n');
}

/// Appends a field in quotes and doubles the quotes in it.
pub fn push_quoted(out: &mut Vec<u8>, content: &[u8]) {
    out.push(b'"');
    let mut rest = content;
    while let Some(at) = memchr(b'"', rest) {
        out.extend_from_slice(&rest[..=at]);
        out.push(b'"');
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
