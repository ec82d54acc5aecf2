//! Reads submissions, with limits that prevent a hostile or mistaken file from exhausting memory.

use std::io::{self, BufRead, BufReader, Read};

use prep_formats::pandas::{CsvError, FileContent, Frame, FrameLimits, ReadOptions, ScannedFrame};

use crate::refusal::{Refusal, RefusalKind, count};

/// Maximum size of a file in bytes, several times that of the largest real submission.
pub const MAX_BYTES: u64 = 4 << 30;

/// Maximum number of columns. The largest real submission has 121.
pub const MAX_COLUMNS: usize = 4_096;

/// Maximum length in bytes of the first line, which contains the names of the columns.
const MAX_HEADER: usize = 1 << 20;

/// The limits of a submission's table.
///
/// `cells` is a hundred times the number of cells in the largest real submission.
///
/// `kept_bytes` is enough for the cells of ten million rows with an identifier and a number. If the cells
/// of a file need more memory, the scan keeps no cells, and grading reads the file a second time.
const LIMITS: FrameLimits = FrameLimits {
    cells: 1 << 28,
    kept_bytes: 1 << 28,
};

/// The result of a first pass over a submission's file. This pass does not depend on the competition.
#[derive(Debug)]
pub struct ScannedSubmission<'a>(Result<ScannedFrame<'a>, Refusal>);

impl<'a> ScannedSubmission<'a> {
    /// Scans the file of a submission. A file that is too large or not a CSV is not an error here, because
    /// grading rejects it later.
    pub fn scan(content: FileContent<'a>) -> io::Result<Self> {
        scan(content).map(ScannedSubmission)
    }

    pub(crate) fn into_frame(self) -> Result<ScannedFrame<'a>, Refusal> {
        self.0
    }
}

/// Parses a submission in memory.
pub fn parse(bytes: &[u8]) -> Result<Frame, Refusal> {
    let scanned = scan(FileContent::Bytes(bytes));
    let scanned = scanned.unwrap_or_else(|error| Err(unreadable(prep_failure::chain(&error))))?;
    scanned.frame().map_err(|error| invalid(&error))
}

pub(crate) fn invalid(error: &CsvError) -> Refusal {
    unreadable(format!(
        "the file is not a valid CSV: {}",
        prep_failure::chain(error)
    ))
}

/// Adds the cause to the message if rows have more fields than the header. In this case, pandas makes the first fields the
/// index, so values are in wrong columns.
///
/// The header has `columns` fields, and the rows have `surplus` additional fields.
pub(crate) fn with_cause(mut refusal: Refusal, (columns, surplus): (usize, usize)) -> Refusal {
    if surplus > 0 {
        refusal.message = format!(
            "{}. The rows have {}, but the header has {columns}: write numbers with a decimal point, not with a comma, and quote texts \
             with commas",
            refusal.message,
            count(columns + surplus, "field"),
        );
    }
    refusal
}

fn scan(content: FileContent<'_>) -> io::Result<Result<ScannedFrame<'_>, Refusal>> {
    let size = content.size()?;
    if size > MAX_BYTES {
        return Ok(Err(too_large(size)));
    }
    let (start, line) = read_first_line(content)?;
    if let Some(format) = detect_format(&start) {
        return Ok(Err(unreadable(format!(
            "the file is not a CSV, but {format}"
        ))));
    }
    let (length, fields) = match line.has_text {
        true => (line.bytes, line.commas + 1),
        false => (0, 0),
    };
    if length > MAX_HEADER {
        return Ok(Err(unreadable(format!(
            "the first line has {length} bytes; at most {MAX_HEADER} are read"
        ))));
    }
    if fields > MAX_COLUMNS {
        return Ok(Err(unreadable(format!(
            "the first line has {fields} fields; at most {MAX_COLUMNS} columns are read"
        ))));
    }
    match ScannedFrame::scan(content, &ReadOptions::default(), LIMITS) {
        Ok(scanned) => Ok(Ok(scanned)),
        Err(CsvError::Io(error)) => Err(error),
        Err(error) => Ok(Err(invalid(&error))),
    }
}

/// Returns the first eight bytes of a file, and the properties of the first line that contains text.
fn read_first_line(content: FileContent<'_>) -> io::Result<(Vec<u8>, FirstLine)> {
    let mut start = Vec::new();
    content.reader().take(8).read_to_end(&mut start)?;
    let mut line = FirstLine::default();
    let mut bytes = BufReader::new(content.reader());
    while !line.is_over {
        let piece = bytes.fill_buf()?;
        if piece.is_empty() {
            break;
        }
        line.take(piece);
        let count = piece.len();
        bytes.consume(count);
    }
    Ok((start, line))
}

/// The length and the number of commas of the first line that contains text.
#[derive(Debug, Default)]
struct FirstLine {
    bytes: usize,
    commas: usize,
    has_text: bool,
    /// Whether the end of the line was read.
    is_over: bool,
}

impl FirstLine {
    fn take(&mut self, piece: &[u8]) {
        for byte in piece {
            match byte {
                b'\n' | b'\r' if self.has_text => {
                    self.is_over = true;
                    return;
                }
                b'\n' | b'\r' => *self = FirstLine::default(),
                byte => {
                    self.bytes += 1;
                    self.commas += usize::from(*byte == b',');
                    self.has_text |= !byte.is_ascii_whitespace();
                }
            }
        }
    }
}

/// Recognises other file formats by their signature, because a message of the CSV parser would not help.
fn detect_format(bytes: &[u8]) -> Option<&'static str> {
    const SIGNATURES: &[(&[u8], &str)] = &[
        (
            b"PK\x03\x04",
            "a zip archive or an Excel workbook; unpack the archive, or save the workbook as CSV",
        ),
        (b"\x1f\x8b", "gzip data; unpack it"),
        (b"PAR1", "a parquet file"),
        (b"\xff\xfe", "UTF-16 text; convert it to UTF-8"),
        (b"\xfe\xff", "UTF-16 text; convert it to UTF-8"),
        (b"%PDF", "a PDF"),
        (b"\x89PNG", "a PNG image"),
        (
            b"```",
            "text with a Markdown fence in line 1; remove the lines with ```",
        ),
        (b"\xd0\xcf\x11\xe0", "an Excel workbook"),
        (b"\x93NUMPY", "a NumPy array"),
    ];
    SIGNATURES
        .iter()
        .find(|(start, _)| bytes.starts_with(start))
        .map(|(_, format)| *format)
}

fn unreadable(message: String) -> Refusal {
    Refusal::new(RefusalKind::Unreadable, message)
}

fn too_large(size: u64) -> Refusal {
    unreadable(format!(
        "the file has {size} bytes; at most {MAX_BYTES} are read"
    ))
}
