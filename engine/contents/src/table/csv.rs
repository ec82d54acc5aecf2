//! Detects the dialect of a CSV file, and reads its rows.

use std::io;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use prep_formats::limits::DecodingLimits;
use prep_formats::pandas::MAX_HEADER_BYTES;
use prep_formats::sniff::{FileType, SNIFF_BYTES};
use prep_formats::text_encoding::{TextEncoding, UNDEFINED_BYTES};

use super::{Row, Rows, TableReader, check_cells};
use crate::read::open_buffered;
use crate::{ContentsError, Result};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvDialect {
    pub encoding: TextEncoding,
    pub byte_order_mark: bool,
    pub delimiter: u8,
    /// How many lines end with CR LF, LF and CR. Line endings inside quotes are included.
    pub crlf: u64,
    pub lf: u64,
    pub cr: u64,
    pub final_newline: bool,
    /// Number of quoted cells that need no quotes.
    pub needless_quotes: u64,
}

impl CsvDialect {
    pub fn line_end(&self) -> &'static str {
        match (self.crlf, self.lf, self.cr) {
            (0, 0, 0) => "none",
            (_, 0, 0) => "CR LF",
            (0, _, 0) => "LF",
            (0, 0, _) => "CR",
            _ => "mixed",
        }
    }
}

pub struct CsvTable {
    path: PathBuf,
    pub form: CsvDialect,
    columns: Vec<String>,
    has_header: bool,
    limits: DecodingLimits,
}

/// Number of bytes and of lines at the beginning of a file from which the delimiter is inferred.
const SNIFFED_BYTES: u64 = 1 << 20;
const SNIFFED_LINES: usize = 100;

impl CsvTable {
    /// Opens a CSV file, and reads it to detect its dialect. See [`guess_delimiter`] about `delimiter`.
    pub fn open(path: &Path, delimiter: u8, limits: &DecodingLimits) -> Result<CsvTable> {
        let mut form = detect_dialect(path)?;
        let mut begin = Vec::new();
        decoded(path, &form)?
            .take(SNIFFED_BYTES)
            .read_to_end(&mut begin)?;
        form.delimiter = guess_delimiter(&begin, delimiter);
        let mut table = CsvTable {
            path: path.to_owned(),
            form,
            columns: Vec::new(),
            has_header: true,
            limits: *limits,
        };
        let mut rows = table.reader()?;
        rows.limits.record = limits.record.min(MAX_HEADER_BYTES as u64);
        let mut row = Row::default();
        if rows.next(&mut row)? {
            let names =
                (0..row.len()).map(|cell| String::from_utf8_lossy(row.cell(cell)).into_owned());
            table.columns = names.collect();
        }
        rows.limits = *limits;
        // Rows may be longer than the header. The additional fields become columns, too.
        let (mut width, mut count) = (table.columns.len(), 0);
        while rows.next(&mut row)? {
            width = width.max(row.len());
            count += 1;
        }
        check_cells(limits, path.metadata()?.len(), count, width)?;
        table.form.needless_quotes = rows.needless;
        drop(rows);
        let further = table.columns.len()..width;
        let names = further.map(|place| format!("field {}", place + 1));
        table.columns.extend(names);
        Ok(table)
    }

    /// Opens a text file as a table with one column, `line`.
    pub fn lines(path: &Path, limits: &DecodingLimits) -> Result<CsvTable> {
        let mut form = detect_dialect(path)?;
        // `CsvRows` does not divide lines into cells if the delimiter is 0.
        form.delimiter = 0;
        Ok(CsvTable {
            path: path.to_owned(),
            form,
            columns: vec!["line".to_owned()],
            has_header: false,
            limits: *limits,
        })
    }

    fn reader(&self) -> Result<CsvRows> {
        Ok(CsvRows {
            input: decoded(&self.path, &self.form)?,
            limits: self.limits,
            delimiter: self.form.delimiter,
            quotes: self.form.delimiter != 0,
            needless: 0,
        })
    }
}

impl TableReader for CsvTable {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn rows(&self) -> Result<Box<dyn Rows + '_>> {
        let mut rows = self.reader()?;
        if self.has_header {
            rows.next(&mut Row::default())?;
        }
        Ok(Box::new(rows))
    }
}

/// Returns the file's text as UTF-8 without a byte order mark.
fn decoded(path: &Path, form: &CsvDialect) -> Result<Box<dyn BufRead>> {
    let mut file = open_buffered(path)?;
    let mark = match form.encoding {
        TextEncoding::Utf8 if form.byte_order_mark => 3,
        TextEncoding::Utf8 | TextEncoding::Latin1 | TextEncoding::Windows1252 => 0,
        TextEncoding::Utf16Le | TextEncoding::Utf16Be => 2,
    };
    io::copy(&mut Read::by_ref(&mut file).take(mark), &mut io::sink())?;
    Ok(form.encoding.buffered(file))
}

/// Infers the delimiter of a file from its beginning. Returns `expected` if the header contains it, or if none of the usual
/// delimiters fits.
///
/// A delimiter fits if at least half of the lines contain it as often as the header does.
pub fn guess_delimiter(begin: &[u8], expected: u8) -> u8 {
    let lines = begin.split(|byte| matches!(byte, b'\n' | b'\r'));
    let mut lines = lines.filter(|line| !line.is_empty()).map(unquoted_part);
    let header = lines.next().unwrap_or_default();
    if header.contains(&expected) {
        return expected;
    }
    // The last line may be incomplete, and quotes may contain line breaks. Therefore the majority of lines decides.
    let lines: Vec<Vec<u8>> = lines.take(SNIFFED_LINES).collect();
    let count = |line: &[u8], wanted| memchr::memchr_iter(wanted, line).count();
    let fits = |wanted: &u8| {
        let there = count(&header, *wanted);
        let equal = lines.iter().filter(|line| count(line, *wanted) == there);
        there > 0 && 2 * equal.count() >= lines.len()
    };
    let others = [b';', b'\t', b'|', b','];
    others.into_iter().find(fits).unwrap_or(expected)
}

/// Returns the bytes of a line outside of double quotes.
fn unquoted_part(line: &[u8]) -> Vec<u8> {
    let mut is_quoted = false;
    let outside = line.iter().filter(|byte| {
        is_quoted ^= **byte == b'"';
        !is_quoted
    });
    outside.copied().collect()
}

/// Returns the format of a binary file, or `None` for a text file or an unknown format. A file without control characters
/// is text, even if it begins with the signature of a binary format, such as `PAR1`.
fn other_format(head: &[u8]) -> Option<FileType> {
    let head = head.get(..SNIFF_BYTES.min(head.len())).unwrap_or_default();
    let looks = FileType::detect(head);
    let is_text = matches!(
        looks,
        FileType::Empty
            | FileType::Html
            | FileType::Xml
            | FileType::Json
            | FileType::Text
            | FileType::Binary
    );
    let has_controls = head.iter().any(|byte| *byte < b'\t');
    (!is_text && has_controls).then_some(looks)
}

/// Detects the encoding, the byte order mark and the line endings of a file. Does not divide it into rows.
fn detect_dialect(path: &Path) -> Result<CsvDialect> {
    let mut file = open_buffered(path)?;
    let mut form = CsvDialect {
        encoding: TextEncoding::Utf8,
        byte_order_mark: false,
        delimiter: b',',
        crlf: 0,
        lf: 0,
        cr: 0,
        final_newline: false,
        needless_quotes: 0,
    };
    let head = file.fill_buf()?;
    if let Some(looks) = other_format(head) {
        return Err(ContentsError::Damaged(format!(
            "got {looks}, expected text"
        )));
    }
    match head {
        [0xff, 0xfe, ..] => form.encoding = TextEncoding::Utf16Le,
        [0xfe, 0xff, ..] => form.encoding = TextEncoding::Utf16Be,
        [0xef, 0xbb, 0xbf, ..] => form.byte_order_mark = true,
        _ => {}
    }
    let wide = matches!(form.encoding, TextEncoding::Utf16Le | TextEncoding::Utf16Be);
    form.byte_order_mark |= wide;
    let mut valid = true;
    // Whether the file has bytes that Latin-1 and Windows-1252 decode differently, and bytes that Windows-1252 does not define.
    let (mut has_control, mut has_undefined) = (false, false);
    // The bytes of a character that is divided between two chunks.
    let mut carry: Vec<u8> = Vec::new();
    let mut previous = 0;
    loop {
        let bytes = file.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        // In UTF-16, a line ending contains a zero byte. Without it, the line endings look like those of ASCII.
        for byte in bytes.iter().copied().filter(|byte| !(wide && *byte == 0)) {
            match (previous, byte) {
                (b'\r', b'\n') => form.crlf += 1,
                (_, b'\n') => form.lf += 1,
                (b'\r', _) => form.cr += 1,
                _ => {}
            }
            previous = byte;
        }
        has_control |= bytes.iter().any(|byte| (0x80..0xa0).contains(byte));
        has_undefined |= bytes.iter().any(|byte| UNDEFINED_BYTES.contains(byte));
        if valid && !wide {
            carry.extend_from_slice(bytes);
            match std::str::from_utf8(&carry) {
                Ok(_) => carry.clear(),
                Err(error) if error.error_len().is_none() => {
                    carry.drain(..error.valid_up_to());
                }
                Err(_) => valid = false,
            }
        }
        let length = bytes.len();
        file.consume(length);
    }
    if previous == b'\r' {
        form.cr += 1;
    }
    form.final_newline = matches!(previous, b'\r' | b'\n');
    if !valid || !carry.is_empty() {
        form.encoding = match has_control && !has_undefined {
            true => TextEncoding::Windows1252,
            false => TextEncoding::Latin1,
        };
    }
    Ok(form)
}

struct CsvRows {
    input: Box<dyn BufRead>,
    delimiter: u8,
    quotes: bool,
    needless: u64,
    limits: DecodingLimits,
}

impl CsvRows {
    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.input.fill_buf()?.first().copied())
    }

    /// Reads the rest of a quoted cell, after the opening quote.
    fn quoted(&mut self, row: &mut Row) -> Result<()> {
        let begin = row.open().len();
        let mut doubled = false;
        loop {
            let bytes = self.input.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            let Some(quote) = memchr::memchr(b'"', bytes) else {
                let length = bytes.len();
                row.open().extend_from_slice(bytes);
                self.input.consume(length);
                row.check(&self.limits)?;
                continue;
            };
            row.open()
                .extend_from_slice(bytes.get(..quote).unwrap_or_default());
            self.input.consume(quote + 1);
            if self.peek()? != Some(b'"') {
                break;
            }
            row.open().push(b'"');
            doubled = true;
            self.input.consume(1);
            row.check(&self.limits)?;
        }
        let content = row.open().get(begin..).unwrap_or_default();
        let delimiter = self.delimiter;
        let needs = |byte: &u8| *byte == delimiter || matches!(byte, b'\n' | b'\r');
        if !doubled && !content.is_empty() && !content.iter().any(needs) {
            self.needless += 1;
        }
        Ok(())
    }
}

impl Rows for CsvRows {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        row.clear();
        if self.peek()?.is_none() {
            return Ok(false);
        }
        let mut at_start = true;
        loop {
            let bytes = self.input.fill_buf()?;
            if bytes.is_empty() {
                row.end_cell();
                return Ok(true);
            }
            let (delimiter, quotes) = (self.delimiter, self.quotes);
            if quotes && at_start && bytes.first() == Some(&b'"') {
                self.input.consume(1);
                self.quoted(row)?;
                at_start = false;
                continue;
            }
            let end = bytes
                .iter()
                .position(|byte| (quotes && *byte == delimiter) || matches!(byte, b'\n' | b'\r'));
            let Some(end) = end else {
                let length = bytes.len();
                row.open().extend_from_slice(bytes);
                self.input.consume(length);
                row.check(&self.limits)?;
                at_start = false;
                continue;
            };
            row.open()
                .extend_from_slice(bytes.get(..end).unwrap_or_default());
            let ended = bytes.get(end).copied();
            self.input.consume(end + 1);
            row.end_cell();
            row.check(&self.limits)?;
            if ended == Some(delimiter) && quotes {
                at_start = true;
                continue;
            }
            if ended == Some(b'\r') && self.peek()? == Some(b'\n') {
                self.input.consume(1);
            }
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &[u8]) -> (CsvDialect, Vec<String>, Vec<Vec<String>>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        std::fs::write(&path, text).unwrap();
        let table = CsvTable::open(&path, b',', &DecodingLimits::default()).unwrap();
        let mut reader = table.rows().unwrap();
        let mut row = Row::default();
        let mut found = Vec::new();
        while reader.next(&mut row).unwrap() {
            let cells =
                (0..row.len()).map(|cell| String::from_utf8_lossy(row.cell(cell)).into_owned());
            found.push(cells.collect());
        }
        (table.form.clone(), table.columns.clone(), found)
    }

    #[test]
    fn dialects_are_detected_and_rows_are_equal() {
        let expected = vec![vec!["1", "é, \"x\""], vec!["2", ""]];
        let utf16: Vec<u8> = "\u{feff}a,b\r\n1,\"é, \"\"x\"\"\"\r\n2,\r\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let texts: [&[u8]; 6] = [
            "a,b\n1,\"é, \"\"x\"\"\"\n2,\n".as_bytes(),
            "\u{feff}a,b\r\n1,\"é, \"\"x\"\"\"\r\n2,\r\n".as_bytes(),
            b"a,b\n1,\"\xe9, \"\"x\"\"\"\n2,",
            "a;b\n\"1\";\"é, \"\"x\"\"\"\n2;\n".as_bytes(),
            "a\tb\r1\t\"é, \"\"x\"\"\"\r2\t\r".as_bytes(),
            &utf16,
        ];
        let mut forms = Vec::new();
        for text in texts {
            let (form, columns, found) = rows(text);
            assert_eq!(columns, ["a", "b"]);
            assert_eq!(found, expected, "{form:?}");
            forms.push(form);
        }
        assert_eq!(forms[1].line_end(), "CR LF");
        assert!(forms[1].byte_order_mark && !forms[0].byte_order_mark);
        assert_eq!(forms[2].encoding, TextEncoding::Latin1);
        assert!(!forms[2].final_newline);
        assert_eq!((forms[3].delimiter, forms[3].needless_quotes), (b';', 1));
        assert_eq!((forms[4].delimiter, forms[4].line_end()), (b'\t', "CR"));
        assert_eq!(forms[5].encoding, TextEncoding::Utf16Le);
    }

    fn open_text(text: &[u8], limits: &DecodingLimits) -> Result<CsvTable> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        CsvTable::open(file.path(), b',', limits)
    }

    #[test]
    fn long_rows_and_wide_tables_exceed_the_limit() {
        let limits = DecodingLimits {
            record: 1 << 20,
            ..DecodingLimits::default()
        };
        let quoted = [b"a\n\"".to_vec(), vec![b'x'; 2 << 20]].concat();
        let quotes = [b"a\n\"".to_vec(), vec![b'"'; 4 << 20]].concat();
        let long_cells = [vec![b'x'; 100_000], b",".to_vec()].concat().repeat(20);
        let wide = vec![b','; 1 << 18];
        for text in [vec![b'x'; 2 << 20], wide, quoted, quotes, long_cells] {
            let found = open_text(&text, &limits).err();
            assert!(matches!(found, Some(ContentsError::Limit(_))), "{found:?}");
        }
        let mut square = vec![b','; 100_000];
        square.extend(b"\n1".repeat(100_000));
        let found = open_text(&square, &DecodingLimits::default()).err();
        assert!(matches!(found, Some(ContentsError::Limit(_))), "{found:?}");
        assert!(open_text(&square[..200_000], &limits).is_err());
        assert!(open_text(b"a,b\n1\n", &limits).is_ok());
    }

    #[test]
    fn other_formats_are_rejected() {
        for head in [b"\x1f\x8b\x08\0".as_slice(), b"PK\x03\x04", b"PAR1\x15\x04"] {
            let found = open_text(head, &DecodingLimits::default()).err();
            assert!(
                matches!(found, Some(ContentsError::Damaged(_))),
                "{found:?}"
            );
        }
        assert!(open_text(b"PAR1,PAR2\n1,2\n", &DecodingLimits::default()).is_ok());
    }
}
