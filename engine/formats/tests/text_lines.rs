//! Compares the lines of text files with Python's text mode (see `tests/data/lines/record.py`).

use crate::hex;
use std::io::BufReader;

use prep_formats::lines::{LinesError, TextLines};
use proptest::prelude::*;

/// Reads with a buffer of `size` bytes, so that the bytes of a line ending may be in different buffers.
fn lines(data: &[u8], size: usize) -> Result<Vec<String>, LinesError> {
    let mut lines = TextLines::new(BufReader::with_capacity(size, data));
    let mut all = Vec::new();
    while let Some(line) = lines.next_line()? {
        all.push(line.to_owned());
    }
    Ok(all)
}

#[test]
fn lines_equal_those_of_python() {
    let cases: Vec<(String, Option<Vec<String>>)> =
        serde_json::from_str(include_str!("data/lines/lines.json")).unwrap();
    assert_eq!(cases.len(), 500);
    for (hex, wanted) in cases {
        let bytes = hex::unhex(&hex);
        for size in [1, 2, 3, 4096] {
            assert_eq!(lines(&bytes, size).ok(), wanted, "{hex}, buffer {size}");
        }
    }
}

#[test]
fn invalid_utf8_is_reported_with_its_line() {
    let error = lines(b"a\r\n\r\n\xff\nb", 8).unwrap_err();
    assert_eq!(error.to_string(), "line 3 is not UTF-8");
}

proptest! {
    /// The lines do not depend on the size of the buffer. All lines and line endings together are the text.
    #[test]
    fn lines_and_line_endings_are_the_text(text in "[a\r\n\u{2028}\u{b}é]{0,40}", size in 1usize..9) {
        let found = lines(text.as_bytes(), size).unwrap();
        let plain = text.replace("\r\n", "\n").replace('\r', "\n");
        let mut reader = TextLines::new(BufReader::with_capacity(size, text.as_bytes()));
        let mut joined = String::new();
        while let Some(line) = reader.next_line().unwrap().map(str::to_owned) {
            joined += &line;
            if reader.has_ended() {
                joined.push('\n');
            }
        }
        prop_assert_eq!(joined.matches('\n').count() + usize::from(!plain.ends_with('\n') && !plain.is_empty()), found.len());
        prop_assert_eq!(joined, plain);
    }
}
