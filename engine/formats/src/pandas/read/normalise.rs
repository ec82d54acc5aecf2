//! Writes the canonical text of a raw file if the text of some cells changes. This is the second pass over the file.

use std::io::{Read, Write};

use crate::pandas::read::rows::{RawRow, RowReader, RowSink};
use crate::pandas::types::join::JoinedType;
use crate::pandas::types::value::value;
use crate::pandas::write::{end_line, push_header, push_minimal};
use crate::pandas::{CsvError, CsvScan, FloatParser, ReadOptions};

/// Approximate number of bytes that are buffered before they are written.
const CHUNK_BYTES: usize = 1 << 18;

/// Writes the canonical text of a raw file. `scan` is the result of scanning the same file with the same options.
///
/// # Errors
/// Returns I/O errors, and [`CsvError::Changed`] if `raw` is not the text that was scanned.
pub fn normalise(
    raw: impl Read,
    scan: &CsvScan,
    options: &ReadOptions,
    out: impl Write,
) -> Result<(), CsvError> {
    let columns = scan.columns.iter().enumerate();
    let columns = columns.map(|(index, column)| (index, column.joined));
    let mut printer = RowPrinter::new(None, columns.collect(), scan, options, out);
    let names = scan.schema.columns.iter();
    push_header(&mut printer.text, names.map(|column| column.name.as_str()));
    printer.print(raw, options)?.flush()?;
    Ok(())
}

/// Formats rows of a scanned file.
pub(in crate::pandas) struct RowPrinter<'a, W> {
    /// An additional first cell of each row.
    first: Option<&'a str>,
    /// The index of each column in the file, and the type for its values.
    columns: Vec<(usize, JoinedType)>,
    scan: &'a CsvScan,
    parser: FloatParser,
    /// Formatted text that is not written yet.
    text: Vec<u8>,
    out: W,
}

impl<'a, W: Write> RowPrinter<'a, W> {
    pub fn new(
        first: Option<&'a str>,
        columns: Vec<(usize, JoinedType)>,
        scan: &'a CsvScan,
        options: &ReadOptions,
        out: W,
    ) -> Self {
        Self {
            first,
            columns,
            scan,
            parser: options.floats,
            text: Vec::with_capacity(CHUNK_BYTES + 4096),
            out,
        }
    }

    /// Writes all rows of the file and returns the output, which is not flushed.
    pub fn print(mut self, raw: impl Read, options: &ReadOptions) -> Result<W, CsvError> {
        let mut rows = RowReader::new(options);
        rows.read(raw, &mut self, |_| false)?;
        if rows.rows() != self.scan.schema.rows {
            return Err(self.changed(rows.rows()));
        }
        self.out.write_all(&self.text)?;
        Ok(self.out)
    }

    fn changed(&self, found: u64) -> CsvError {
        CsvError::Changed {
            expected: self.scan.schema.rows,
            found,
        }
    }
}

impl<W: Write> RowSink for RowPrinter<'_, W> {
    fn row(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        let start = self.text.len();
        let mut cells = 0;
        if let Some(first) = self.first {
            push_minimal(&mut self.text, first.as_bytes(), b',');
            cells += 1;
        }
        for (index, joined) in &self.columns {
            if cells > 0 {
                self.text.push(b',');
            }
            cells += 1;
            let cell = row.content(index + self.scan.index_columns);
            let column = self.scan.columns.get(*index);
            let block = column.map(|column| column.block(row.number, self.scan.block_rows));
            match block.and_then(|block| value(&cell, block, *joined, self.parser)) {
                Some(value) => value.push_cell(&mut self.text),
                None => return Err(self.changed(row.number)),
            }
        }
        end_line(&mut self.text, start, cells);
        if self.text.len() >= CHUNK_BYTES {
            self.out.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}
