//! Rows of computed values as `to_csv(index=False)` prints them.

use std::io::Write;

use crate::pandas::numbers::print;
use crate::pandas::read::tokens::unquote;
use crate::pandas::stored::index::{Noted, RowIndex};
use crate::pandas::write::quote::{end_line, push_minimal, push_quoted};
use crate::pandas::{ColumnType, CsvError};

/// Which fields get quotes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Quoting {
    /// Those that need them (`QUOTE_MINIMAL`).
    #[default]
    Minimal,
    /// All that are no numbers: texts, names, and missing cells as `""` (`QUOTE_NONNUMERIC`).
    NonNumeric,
}

/// How much is gathered before it is handed on.
const BUFFER: usize = 1 << 18;

/// Writes a table cell by cell. Every row ends with [`end_row`](Self::end_row), the table with [`finish`](Self::finish).
pub struct CsvWriter<W> {
    out: W,
    buffer: Vec<u8>,
    delimiter: u8,
    quoting: Quoting,
    /// Where the current row starts in the buffer.
    row: usize,
    /// Fields of the current row.
    fields: usize,
    /// Bytes that were handed on.
    handed_on: u64,
    /// Where rows start, if somebody wants to know.
    index: Noted,
}

impl<W: Write> CsvWriter<W> {
    /// A writer with commas and minimal quoting.
    pub fn new(out: W) -> Self {
        Self::with(out, b',', Quoting::Minimal)
    }

    /// A writer with a delimiter and a quoting of its own.
    pub fn with(out: W, delimiter: u8, quoting: Quoting) -> Self {
        Self {
            out,
            buffer: Vec::with_capacity(BUFFER + 4096),
            delimiter,
            quoting,
            row: 0,
            fields: 0,
            handed_on: 0,
            index: Noted::default(),
        }
    }

    /// Notes where rows start: see [`take_index`](Self::take_index).
    #[must_use]
    pub fn with_index(mut self) -> Self {
        self.index = Noted::begin();
        self
    }

    /// Where the rows start that were written, the header's among them; of very many, nobody knows.
    pub fn take_index(&mut self) -> Option<RowIndex> {
        self.index.take(self.handed_on + self.buffer.len() as u64)
    }

    /// Writes the line with the names.
    ///
    /// # Errors
    /// The output fails.
    pub fn header<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> Result<(), CsvError> {
        for name in names {
            self.text(name);
        }
        self.end_row()
    }

    fn field(&mut self) -> &mut Vec<u8> {
        if self.fields > 0 {
            self.buffer.push(self.delimiter);
        }
        self.fields += 1;
        &mut self.buffer
    }

    /// A whole number.
    pub fn integer(&mut self, value: impl itoa::Integer) {
        print::push_integer(self.field(), value);
    }

    /// A double in its shortest form; NaN is missing.
    pub fn f64(&mut self, value: f64) {
        if value.is_nan() {
            self.missing();
        } else {
            print::push_f64(self.field(), value);
        }
    }

    /// A single in its shortest form; NaN is missing.
    pub fn f32(&mut self, value: f32) {
        if value.is_nan() {
            self.missing();
        } else {
            print::push_f32(self.field(), value);
        }
    }

    /// `True` or `False`.
    pub fn bool(&mut self, value: bool) {
        print::push_bool(self.field(), value);
    }

    /// A text.
    pub fn text(&mut self, value: &str) {
        self.content(value.as_bytes());
    }

    fn content(&mut self, value: &[u8]) {
        let (delimiter, quoting) = (self.delimiter, self.quoting);
        let out = self.field();
        match quoting {
            Quoting::Minimal => push_minimal(out, value, delimiter),
            Quoting::NonNumeric => push_quoted(out, value),
        }
    }

    /// A missing cell.
    pub fn missing(&mut self) {
        let quoting = self.quoting;
        let out = self.field();
        if quoting == Quoting::NonNumeric {
            out.extend_from_slice(b"\"\"");
        }
    }

    /// A cell of a canonical text, with its quotes, of a column of type `kind`.
    pub fn slice(&mut self, cell: &[u8], kind: ColumnType) {
        match (self.quoting, cell) {
            (_, b"" | b"\"\"") => self.missing(),
            (Quoting::Minimal, _) if self.delimiter == b',' => self.field().extend_from_slice(cell),
            // A cell with a quote in it is quoted, so the first byte tells.
            (Quoting::Minimal, [b'"', ..]) => self.content(&unquote(cell)),
            (Quoting::Minimal, _) => self.content(cell),
            (Quoting::NonNumeric, [b'"', ..]) => self.field().extend_from_slice(cell),
            (Quoting::NonNumeric, _) if matches!(kind, ColumnType::Text | ColumnType::Json) => {
                self.content(cell)
            }
            (Quoting::NonNumeric, _) => self.field().extend_from_slice(cell),
        }
    }

    /// So many fields as they were printed at the same place of another row, delimiters among them.
    pub fn fields(&mut self, text: &[u8], count: usize) {
        self.buffer.extend_from_slice(text);
        self.fields += count;
    }

    /// The bytes of the row so far.
    pub fn row_len(&self) -> usize {
        self.buffer.len() - self.row
    }

    /// The row so far, from its byte `start` on.
    pub fn row_from(&self, start: usize) -> &[u8] {
        self.buffer.get(self.row + start..).unwrap_or_default()
    }

    /// Ends the row.
    ///
    /// # Errors
    /// The output fails.
    pub fn end_row(&mut self) -> Result<(), CsvError> {
        end_line(&mut self.buffer, self.row, self.fields);
        self.fields = 0;
        self.index.push(self.handed_on + self.row as u64)?;
        if self.buffer.len() >= BUFFER {
            self.out.write_all(&self.buffer)?;
            self.handed_on += self.buffer.len() as u64;
            self.buffer.clear();
        }
        self.row = self.buffer.len();
        Ok(())
    }

    /// Hands on what is left and returns the output.
    ///
    /// # Errors
    /// The output fails.
    pub fn finish(mut self) -> Result<W, CsvError> {
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.out)
    }
}
