//! Writes the canonical text of a raw file if the text of some cells changes. This is the second pass over the file.

use std::io::{Read, Write};

use crate::pandas::read::rows::{RawRow, RowReader, RowSink};
use crate::pandas::types::value::value;
use crate::pandas::write::quote::{end_line, push_header};
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
    let mut rows = RowReader::new(options);
    let mut sink = Printer {
        scan,
        parser: options.floats,
        line: Vec::with_capacity(CHUNK_BYTES + 4096),
        out,
    };
    sink.names();
    rows.read(raw, &mut sink, |_| false)?;
    if rows.rows() != scan.schema.rows {
        return Err(CsvError::Changed {
            expected: scan.schema.rows,
            found: rows.rows(),
        });
    }
    sink.out.write_all(&sink.line)?;
    sink.out.flush()?;
    Ok(())
}

/// Formats the rows of the file.
struct Printer<'a, W> {
    scan: &'a CsvScan,
    parser: FloatParser,
    line: Vec<u8>,
    out: W,
}

impl<W> Printer<'_, W> {
    fn names(&mut self) {
        let columns = self.scan.schema.columns.iter();
        push_header(&mut self.line, columns.map(|column| column.name.as_str()));
    }
}

impl<W: Write> RowSink for Printer<'_, W> {
    fn row(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        let start = self.line.len();
        for (i, column) in self.scan.columns.iter().enumerate() {
            if i > 0 {
                self.line.push(b',');
            }
            let cell = row.content(i + self.scan.index_columns);
            let block = column.block(row.number, self.scan.block_rows);
            let Some(value) = value(&cell, block, column.joined, self.parser) else {
                return Err(CsvError::Changed {
                    expected: self.scan.schema.rows,
                    found: row.number,
                });
            };
            value.push_cell(&mut self.line);
        }
        end_line(&mut self.line, start, self.scan.columns.len());
        if self.line.len() >= CHUNK_BYTES {
            self.out.write_all(&self.line)?;
            self.line.clear();
        }
        Ok(())
    }
}
