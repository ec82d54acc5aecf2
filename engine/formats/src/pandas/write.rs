//! Writes rows of computed values as `to_csv(index=False)` does, with the quotes of Python 3.11's `csv` module.

use std::io::Write;

use memchr::{memchr, memchr3};

use crate::pandas::numbers::print;
use crate::pandas::read::tokens::unquote;
use crate::pandas::stored::table::{IndexRecorder, RowIndex};
use crate::pandas::{ColumnType, CsvError};

/// The rule for quoting fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Quoting {
    /// Fields that need quotes (`QUOTE_MINIMAL`).
    #[default]
    Minimal,
    /// All fields except numbers: strings, names, and missing cells as `""` (`QUOTE_NONNUMERIC`).
    NonNumeric,
    /// All fields (`QUOTE_ALL`).
    All,
}

/// The end of each line, including the last one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum LineEnding {
    /// LF, pandas' default on Linux.
    #[default]
    Lf,
    /// CR LF, the default of Python's `csv.writer`.
    CrLf,
}

/// The format of a CSV file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CsvDialect {
    /// The separator of the fields (`sep`).
    pub delimiter: u8,
    /// The rule for quoting fields (`quoting`).
    pub quoting: Quoting,
    /// The end of each line (`lineterminator`).
    pub line_ending: LineEnding,
}

impl CsvDialect {
    /// The format of stored tables, and of pandas without options: commas, minimal quotes and LF.
    pub const PLAIN: CsvDialect = CsvDialect {
        delimiter: b',',
        quoting: Quoting::Minimal,
        line_ending: LineEnding::Lf,
    };
}

const BUFFER_BYTES: usize = 1 << 18;

/// Writes a table cell by cell. Each row ends with [`end_row`](Self::end_row), the table with [`finish`](Self::finish).
pub struct CsvWriter<W> {
    out: W,
    buffer: Vec<u8>,
    dialect: CsvDialect,
    /// Index in `buffer` of the current row.
    row: usize,
    /// Number of fields in the current row.
    fields: usize,
    /// Number of bytes that were written to `out`.
    flushed_bytes: u64,
    index: IndexRecorder,
}

impl<W: Write> CsvWriter<W> {
    /// Creates a writer with commas and minimal quoting.
    pub fn new(out: W) -> Self {
        Self::with_dialect(out, CsvDialect::PLAIN)
    }

    /// Creates a writer for the given format.
    pub fn with_dialect(out: W, dialect: CsvDialect) -> Self {
        Self {
            out,
            buffer: Vec::with_capacity(BUFFER_BYTES + 4096),
            dialect,
            row: 0,
            fields: 0,
            flushed_bytes: 0,
            index: IndexRecorder::default(),
        }
    }

    /// Records the offsets of rows for [`take_index`](Self::take_index).
    #[must_use]
    pub fn with_index(mut self) -> Self {
        self.index = IndexRecorder::begin();
        self
    }

    /// Returns the offsets of the rows so far, including the header, or `None` if there are too many rows.
    pub fn take_index(&mut self) -> Option<RowIndex> {
        self.index
            .take(self.flushed_bytes + self.buffer.len() as u64)
    }

    /// Writes the header line.
    pub fn header<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> Result<(), CsvError> {
        for name in names {
            self.text(name);
        }
        self.end_row()
    }

    /// Begins a field. Returns the buffer to which its content must be appended.
    fn field(&mut self) -> &mut Vec<u8> {
        if self.fields > 0 {
            self.buffer.push(self.dialect.delimiter);
        }
        self.fields += 1;
        &mut self.buffer
    }

    /// Writes a number or boolean, whose text `print` appends without quotes.
    fn printed(&mut self, print: impl FnOnce(&mut Vec<u8>)) {
        let is_quoted = self.dialect.quoting == Quoting::All;
        let out = self.field();
        if is_quoted {
            out.push(b'"');
        }
        print(out);
        if is_quoted {
            out.push(b'"');
        }
    }

    /// Writes an integer.
    pub fn integer(&mut self, value: impl itoa::Integer) {
        self.printed(|out| print::push_integer(out, value));
    }

    /// Writes a double as the shortest decimal that parses back to it. NaN is a missing cell.
    pub fn f64(&mut self, value: f64) {
        if value.is_nan() {
            self.missing();
        } else {
            self.printed(|out| print::push_f64(out, value));
        }
    }

    /// Writes a single-precision float as the shortest decimal that parses back to it. NaN is a missing cell.
    pub fn f32(&mut self, value: f32) {
        if value.is_nan() {
            self.missing();
        } else {
            self.printed(|out| print::push_f32(out, value));
        }
    }

    /// Writes `True` or `False`.
    pub fn bool(&mut self, value: bool) {
        self.printed(|out| print::push_bool(out, value));
    }

    /// Writes a text.
    pub fn text(&mut self, value: &str) {
        self.content(value.as_bytes());
    }

    /// Writes a field with this content, which is not a number.
    fn content(&mut self, value: &[u8]) {
        let CsvDialect {
            delimiter,
            quoting,
            line_ending,
        } = self.dialect;
        // Python quotes fields that contain a character of the line ending.
        let has_cr = || line_ending == LineEnding::CrLf && memchr(b'\r', value).is_some();
        let is_quoted = quoting != Quoting::Minimal || has_cr();
        let out = self.field();
        match is_quoted {
            true => push_quoted(out, value),
            false => push_minimal(out, value, delimiter),
        }
    }

    /// Writes a missing cell.
    pub fn missing(&mut self) {
        let quoting = self.dialect.quoting;
        let out = self.field();
        if quoting != Quoting::Minimal {
            out.extend_from_slice(b"\"\"");
        }
    }

    /// Writes a cell of canonical text. `cell` includes its quotes, and `kind` is the type of its column.
    pub fn slice(&mut self, cell: &[u8], kind: ColumnType) {
        match (self.dialect.quoting, cell) {
            (_, b"" | b"\"\"") => self.missing(),
            (Quoting::Minimal, _) if self.dialect == CsvDialect::PLAIN => {
                self.field().extend_from_slice(cell);
            }
            // A cell that contains a quote is quoted, so checking the first byte is sufficient.
            (Quoting::Minimal, [b'"', ..]) => self.content(&unquote(cell)),
            (Quoting::Minimal, _) => self.content(cell),
            (_, [b'"', ..]) => self.field().extend_from_slice(cell),
            (Quoting::All, _) => self.content(cell),
            (Quoting::NonNumeric, _) if matches!(kind, ColumnType::Text | ColumnType::Json) => {
                self.content(cell)
            }
            (Quoting::NonNumeric, _) => self.field().extend_from_slice(cell),
        }
    }

    /// Writes `count` fields at once. `text` must contain these fields with the delimiters between them.
    pub fn fields(&mut self, text: &[u8], count: usize) {
        self.buffer.extend_from_slice(text);
        self.fields += count;
    }

    /// Returns the number of bytes of the current row.
    pub fn row_len(&self) -> usize {
        self.buffer.len() - self.row
    }

    /// Returns the bytes of the current row, beginning at its byte `start`.
    pub fn row_from(&self, start: usize) -> &[u8] {
        self.buffer.get(self.row + start..).unwrap_or_default()
    }

    /// Ends the row.
    pub fn end_row(&mut self) -> Result<(), CsvError> {
        end_line(&mut self.buffer, self.row, self.fields);
        if self.dialect.line_ending == LineEnding::CrLf {
            self.buffer.pop();
            self.buffer.extend_from_slice(b"\r\n");
        }
        self.fields = 0;
        self.index.push(self.flushed_bytes + self.row as u64)?;
        if self.buffer.len() >= BUFFER_BYTES {
            self.out.write_all(&self.buffer)?;
            self.flushed_bytes += self.buffer.len() as u64;
            self.buffer.clear();
        }
        self.row = self.buffer.len();
        Ok(())
    }

    /// Writes the buffered bytes and returns the output.
    pub fn finish(mut self) -> Result<W, CsvError> {
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Returns whether a field needs quotes. A lone CR needs none, because Python 3.11 only checks for LF.
pub(crate) fn needs_quotes(content: &[u8], delimiter: u8) -> bool {
    memchr3(delimiter, b'"', b'\n', content).is_some()
}

/// Appends a field, in quotes if necessary.
pub(crate) fn push_minimal(out: &mut Vec<u8>, content: &[u8], delimiter: u8) {
    if needs_quotes(content, delimiter) {
        push_quoted(out, content);
    } else {
        out.extend_from_slice(content);
    }
}

/// Appends a header line with these names. Returns their number.
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

/// Ends a line of `count` fields that begins at `start`. If the only field is empty, writes `""`, as in Python.
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
