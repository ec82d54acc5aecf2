//! Reads raw files a second time, when the types of their columns are known.
//!
//! - [`normalise`] writes the canonical text of a raw file if the text of some cells changes.
//! - [`Concatenation`] reads several files as one table, like `pandas.concat` of the frames of `read_csv`.
//! - [`first_type_mismatch`] finds the cell that prevents a column from having a required type, for an error message.

use std::io::{Read, Write};

use crate::pandas::read::rows::{RawRow, RowReader, RowSink, Shape};
use crate::pandas::read::scan::unique_names;
use crate::pandas::types::infer::Inference;
use crate::pandas::types::infer::JoinedType;
use crate::pandas::types::infer::value;
use crate::pandas::write::{end_line, push_header, push_minimal};
use crate::pandas::{ColumnSchema, ColumnType, CsvError, CsvScan, FloatParser, ReadOptions};

const CHUNK_BYTES: usize = 1 << 18;

/// Writes the canonical text of a raw file. `scan` must be the scan of this file with the same options.
///
/// # Errors
/// I/O errors, and [`CsvError::Changed`] if `raw` is not the text that was scanned.
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

/// Writes the rows of a scanned file as canonical text, without a header.
pub(in crate::pandas) struct RowPrinter<'a, W> {
    /// Content of an additional cell at the beginning of each row.
    first: Option<&'a str>,
    /// The index of each column in the file, and the type for its values.
    columns: Vec<(usize, JoinedType)>,
    scan: &'a CsvScan,
    parser: FloatParser,
    /// The text that is not written to `out` yet.
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

    /// Writes the rows of the file `raw`, which must be the scanned file. Returns the output.
    pub fn print(mut self, raw: impl Read, options: &ReadOptions) -> Result<W, CsvError> {
        let mut rows = RowReader::new(options);
        rows.read(raw, &mut self, |_| false)?;
        if rows.rows() != self.scan.schema.rows {
            return Err(self.changed(rows.rows()));
        }
        self.out.write_all(&self.text)?;
        Ok(self.out)
    }

    /// Returns the error for a file that differs from the scanned one after `found` rows.
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

/// Selected columns of several files, with their common types.
#[derive(Debug, Clone)]
pub struct Concatenation {
    columns: Vec<ConcatenatedColumn>,
}

/// A selected column, and its types in the files added so far.
#[derive(Debug, Clone)]
struct ConcatenatedColumn {
    name: String,
    kinds: ColumnTypes,
    nullable: bool,
}

/// A file lacks a requested column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the file has no column `{name}`")]
pub struct MissingColumn {
    /// Name of the column.
    pub name: String,
}

impl Concatenation {
    /// Selects the columns with these names.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let columns = names.into_iter().map(|name| ConcatenatedColumn {
            name,
            kinds: ColumnTypes::default(),
            nullable: false,
        });
        Self {
            columns: columns.collect(),
        }
    }

    /// Adds the types of the selected columns in a scanned file.
    ///
    /// # Errors
    /// [`MissingColumn`] names the first selected column that the file does not contain.
    pub fn add(&mut self, scan: &CsvScan) -> Result<(), MissingColumn> {
        for column in &mut self.columns {
            let missing = || MissingColumn {
                name: column.name.clone(),
            };
            let index = scan.schema.position(&column.name).ok_or_else(missing)?;
            let own = scan.columns.get(index).ok_or_else(missing)?.joined;
            let nullable = scan
                .schema
                .columns
                .get(index)
                .is_some_and(|own| own.nullable);
            // A file without rows does not affect the common type, as in pandas.
            if scan.schema.rows > 0 {
                column.kinds.add(own, nullable);
            }
            column.nullable |= nullable;
        }
        Ok(())
    }

    /// Returns the columns and their common types.
    pub fn columns(&self) -> Vec<ColumnSchema> {
        let columns = self.columns.iter().map(|column| ColumnSchema {
            name: column.name.clone(),
            kind: column.kinds.common_type().column_type(),
            nullable: column.nullable,
        });
        columns.collect()
    }

    /// Writes the rows of an added file as canonical text. Each row begins with the additional cell `first`.
    ///
    /// # Errors
    /// I/O errors, and [`CsvError::Changed`] if `raw` is not the text that was scanned.
    pub fn write(
        &self,
        first: &str,
        raw: impl Read,
        scan: &CsvScan,
        options: &ReadOptions,
        out: impl Write,
    ) -> Result<(), CsvError> {
        let indices = self.columns.iter().map(|column| {
            let index = scan.schema.position(&column.name)?;
            let own = scan.columns.get(index)?.joined;
            Some((index, formatted_type(own, column.kinds.common_type())))
        });
        let Some(indices) = indices.collect::<Option<Vec<_>>>() else {
            return Err(CsvError::Changed {
                expected: scan.schema.rows,
                found: 0,
            });
        };
        RowPrinter::new(Some(first), indices, scan, options, out)
            .print(raw, options)
            .map(drop)
    }
}

/// Which types a column has in the added files.
#[derive(Debug, Clone, Copy, Default)]
struct ColumnTypes {
    bool: bool,
    int: bool,
    uint: bool,
    float: bool,
    object: bool,
}

impl ColumnTypes {
    /// Adds the type of the column in another file. In pandas, booleans with missing cells are objects.
    fn add(&mut self, joined: JoinedType, nullable: bool) {
        match joined.column_type() {
            ColumnType::Bool if !nullable => self.bool = true,
            ColumnType::Int64 | ColumnType::Int32 | ColumnType::Int16 | ColumnType::Int8 => {
                self.int = true;
            }
            ColumnType::UInt64 => self.uint = true,
            ColumnType::Float64 | ColumnType::Float32 => self.float = true,
            _ => self.object = true,
        }
    }

    /// Returns the type of the column in the concatenated table. Numbers of different types become doubles.
    ///
    /// As in NumPy, booleans become 0 and 1 in a column that also contains integers. A column of booleans and doubles
    /// has the type object, and its values become doubles.
    fn common_type(self) -> JoinedType {
        match self {
            Self { object: true, .. } => JoinedType::Object,
            Self {
                bool: true,
                float: true,
                ..
            } => JoinedType::ObjectOfFloats,
            Self { float: true, .. }
            | Self {
                int: true,
                uint: true,
                ..
            } => JoinedType::Float,
            Self { int: true, .. } => JoinedType::Int,
            Self { uint: true, .. } => JoinedType::UInt,
            Self { bool: true, .. } => JoinedType::Bool,
            _ => JoinedType::Object,
        }
    }
}

/// Returns the type for formatting a file's values. `own` is the column's type in this file, and `common` is its type in the
/// concatenated table.
fn formatted_type(own: JoinedType, common: JoinedType) -> JoinedType {
    match (own, common) {
        (JoinedType::Bool, JoinedType::Int | JoinedType::UInt) => JoinedType::ObjectOfIntegers,
        (JoinedType::Bool, JoinedType::Float) | (_, JoinedType::ObjectOfFloats) => {
            JoinedType::ObjectOfFloats
        }
        (JoinedType::Int | JoinedType::UInt, JoinedType::Float) => JoinedType::Float,
        _ => own,
    }
}

/// A cell that does not have the required type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeMismatch {
    /// The row, counted from 1 without the header.
    pub row: u64,
    /// Offset of the row in the file, in bytes.
    pub offset: u64,
    /// Content of the cell.
    pub cell: String,
    /// Whether pandas treats the cell as missing.
    pub missing: bool,
}

/// Reads a file again and returns the first cell of `column` whose type does not satisfy `fits`.
///
/// Checks each cell separately. Returns `None` if all cells satisfy `fits`, or if the column does not exist.
///
/// # Errors
/// Same as [`CsvScanner`](crate::pandas::CsvScanner), for the part of the file before the cell.
pub fn first_type_mismatch(
    input: impl Read,
    options: &ReadOptions,
    column: &str,
    fits: impl Fn(ColumnType) -> bool,
) -> Result<Option<TypeMismatch>, CsvError> {
    let mut rows = RowReader::new(options);
    let mut search = Search {
        options,
        column,
        fits,
        field: None,
        index: 0,
        found: None,
    };
    rows.read(input, &mut search, |search| search.found.is_some())?;
    Ok(search.found)
}

/// Searches a column for the first cell whose type does not satisfy `fits`.
struct Search<'a, F> {
    options: &'a ReadOptions,
    column: &'a str,
    fits: F,
    /// Index of the column among the named columns.
    field: Option<usize>,
    /// Number of unnamed columns before the named ones.
    index: usize,
    found: Option<TypeMismatch>,
}

impl<F: Fn(ColumnType) -> bool> RowSink for Search<'_, F> {
    fn header(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        let names = unique_names(row.texts());
        self.field = names.iter().position(|name| name == self.column);
        Ok(())
    }

    fn shape(&mut self, shape: Shape) -> Result<(), CsvError> {
        self.index = shape.index;
        if !self.options.header {
            self.field = self.column.parse().ok();
        }
        Ok(())
    }

    fn row(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        let (None, Some(field)) = (&self.found, self.field) else {
            return Ok(());
        };
        let cell = row.content(field + self.index);
        // Infers the type of this cell alone, as if it were the only row.
        let mut inference = Inference::new(self.options.floats);
        inference.push(&cell);
        let block = inference.finish();
        if !(self.fits)(JoinedType::join(&[block]).column_type()) {
            self.found = Some(TypeMismatch {
                row: row.number + 1,
                offset: row.offset,
                cell: String::from_utf8_lossy(&cell).into_owned(),
                missing: block.missing,
            });
        }
        Ok(())
    }
}
