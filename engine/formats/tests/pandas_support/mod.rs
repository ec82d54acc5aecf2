//! Shared by the tests of `pandas`.
#![allow(dead_code, reason = "every test binary uses its own part")]

use std::path::PathBuf;

use prep_formats::pandas::{CsvError, ReadOptions, Scan, Scanner};
use serde_json::Value;

pub fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/pandas")
        .join(name)
}

/// The JSON values of a file with one a line.
pub fn lines(name: &str) -> impl Iterator<Item = Value> {
    let text = std::fs::read_to_string(data(name)).unwrap();
    let values: Vec<Value> = text
        .split_terminator('\n')
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    values.into_iter()
}

pub fn scan_in_chunks(raw: &[u8], options: &ReadOptions, chunk: usize) -> Result<Scan, CsvError> {
    let mut scanner = Scanner::new(options);
    for chunk in raw.chunks(chunk.min(raw.len()).max(1)) {
        scanner.feed(chunk)?;
    }
    scanner.finish()
}
