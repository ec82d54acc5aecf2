//! Reading what is graded, with limits that keep a hostile or mistaken file from exhausting the machine.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use prep_formats::pandas::{Frame, ReadOptions, ScannedFrame};

use crate::refusal::{Refusal, RefusalKind};

/// Larger files are refused: 4 GiB, several times the largest real submission.
pub const MAX_BYTES: u64 = 4 << 30;

/// Files with more columns are refused; the widest real submission has 121.
pub const MAX_COLUMNS: usize = 4_096;

/// Files whose first line is longer are refused: there would be column names of a megabyte.
const MAX_HEADER: usize = 1 << 20;

/// Whether a submission is there at all: an ordinary file whose name ends in `.csv`, in any case.
pub fn exists(path: &Path) -> bool {
    path.is_file()
        && path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
}

/// The bytes of a submission.
///
/// # Errors
/// When the file cannot be read, or is too large.
pub fn bytes_of(path: &Path) -> Result<Vec<u8>, Refusal> {
    if !exists(path) {
        let message = format!("`{}` is no file whose name ends in .csv", path.display());
        return Err(unreadable(message));
    }
    let failed =
        |error: std::io::Error| unreadable(format!("cannot read `{}`: {error}", path.display()));
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    if size > MAX_BYTES {
        return Err(too_large(size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    // The file may grow while it is read.
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(bytes)
}

/// Reads a submission that is in memory.
///
/// # Errors
/// When it is too large, or no CSV.
pub fn parse(bytes: &[u8]) -> Result<Frame, Refusal> {
    parse_if(bytes, |_| Ok(()))
}

/// Reads a submission that is in memory, if its shape is right: a table with names of columns and a number of rows, and
/// without cells.
///
/// # Errors
/// When it is too large, or no CSV; what is wrong with its shape.
pub fn parse_if(
    bytes: &[u8],
    check: impl FnOnce(&Frame) -> Result<(), Refusal>,
) -> Result<Frame, Refusal> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(too_large(bytes.len() as u64));
    }
    if let Some(what) = recognise(bytes) {
        return Err(unreadable(format!("the file is {what}, not a CSV")));
    }
    let header = bytes
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .find(|line| !line.trim_ascii().is_empty());
    if let Some(line) = header.filter(|line| line.len() > MAX_HEADER) {
        let length = line.len();
        return Err(unreadable(format!(
            "the first line has {length} bytes; at most {MAX_HEADER} are read"
        )));
    }
    let columns = header.map_or(0, |line| {
        line.iter().filter(|byte| **byte == b',').count() + 1
    });
    if columns > MAX_COLUMNS {
        return Err(unreadable(format!(
            "the first line has {columns} fields; at most {MAX_COLUMNS} columns are read"
        )));
    }
    let invalid = |error| unreadable(format!("the file is no valid CSV: {error}"));
    let options = ReadOptions::default();
    let scanned = ScannedFrame::of(bytes, &options).map_err(invalid)?;
    check(&scanned.shape())?;
    scanned.read().map_err(invalid)
}

/// Names a file that is plainly something else, since a parser's message would not help its author.
fn recognise(bytes: &[u8]) -> Option<&'static str> {
    const KNOWN: &[(&[u8], &str)] = &[
        (b"PK\x03\x04", "a zip archive (or an Excel workbook)"),
        (b"\x1f\x8b", "gzip data"),
        (b"PAR1", "a parquet file"),
        (b"\xff\xfe", "UTF-16 text"),
        (b"\xfe\xff", "UTF-16 text"),
        (b"%PDF", "a PDF"),
        (b"\x89PNG", "a PNG image"),
        (b"\xd0\xcf\x11\xe0", "an Excel workbook"),
        (b"\x93NUMPY", "a NumPy array"),
    ];
    KNOWN
        .iter()
        .find(|(start, _)| bytes.starts_with(start))
        .map(|(_, what)| *what)
}

fn unreadable(message: String) -> Refusal {
    Refusal::new(RefusalKind::Unreadable, message)
}

fn too_large(size: u64) -> Refusal {
    unreadable(format!(
        "the file has {size} bytes; at most {MAX_BYTES} are read"
    ))
}
