//! Functions that the tests of `pandas` share.
#![allow(dead_code, reason = "every test binary uses its own part")]

use std::path::PathBuf;

use prep_formats::pandas::{
    CsvError, CsvScan, CsvScanner, ReadOptions, RewriteResult, Rewriter, normalise,
};
use serde_json::Value;

/// Returns the path of a file with recorded cases.
pub fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/pandas")
        .join(name)
}

/// Returns the JSON values of a file with one value per line.
pub fn lines(name: &str) -> impl Iterator<Item = Value> {
    let text = std::fs::read_to_string(data(name)).unwrap();
    let values: Vec<Value> = text
        .split_terminator('\n')
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    values.into_iter()
}

/// Scans a raw file in chunks of `chunk` bytes.
pub fn scan_in_chunks(
    raw: &[u8],
    options: &ReadOptions,
    chunk: usize,
) -> Result<CsvScan, CsvError> {
    let mut scanner = CsvScanner::new(options);
    for chunk in raw.chunks(chunk.min(raw.len()).max(1)) {
        scanner.feed(chunk)?;
    }
    scanner.finish()
}

/// Returns the text that the first pass produces from a raw file, and its result, which shows whether the
/// text is canonical.
pub fn rewrite_in_chunks(
    raw: &[u8],
    options: &ReadOptions,
    chunk: usize,
) -> Result<(Vec<u8>, RewriteResult), CsvError> {
    let mut rewriter = Rewriter::new(options);
    let mut text = Vec::new();
    let mut take = |rewriter: &mut Rewriter| {
        while let Some(piece) = rewriter.take_chunk() {
            text.extend_from_slice(&piece);
            rewriter.recycle(piece);
        }
    };
    for chunk in raw.chunks(chunk.min(raw.len()).max(1)) {
        let mut piece = rewriter.surplus_buffer().unwrap_or_default();
        piece.clear();
        piece.extend_from_slice(chunk);
        rewriter.feed(piece)?;
        take(&mut rewriter);
    }
    let rewritten = rewriter.finish()?;
    take(&mut rewriter);
    Ok((text, rewritten))
}

/// Returns the canonical text of a raw file, after one or two passes.
pub fn canonical_text(
    raw: &[u8],
    options: &ReadOptions,
    chunk: usize,
) -> Result<(Vec<u8>, RewriteResult), CsvError> {
    let (text, rewritten) = rewrite_in_chunks(raw, options, chunk)?;
    let mut printed = Vec::new();
    match &rewritten {
        RewriteResult::Canonical(_) => printed = text,
        RewriteResult::Cells(scan, options) => {
            normalise(text.as_slice(), scan, options, &mut printed)?;
        }
        RewriteResult::Unreadable(scan) => normalise(raw, scan, options, &mut printed)?,
    }
    Ok((printed, rewritten))
}
