//! Reads several files as one table, as `pandas.concat` combines the frames that `read_csv` creates from them.

use std::io::{Read, Write};

use crate::pandas::read::rows::{RawRow, RowReader, RowSink};
use crate::pandas::types::join::JoinedType;
use crate::pandas::types::value::value;
use crate::pandas::write::quote::push_minimal;
use crate::pandas::{ColumnSchema, ColumnType, CsvError, CsvScan, FloatParser, ReadOptions};

/// Approximate number of bytes that are buffered before they are written.
const CHUNK_BYTES: usize = 1 << 18;

/// Selected columns of several files, with their common types.
#[derive(Debug, Clone)]
pub struct Concatenation {
    columns: Vec<ConcatenatedColumn>,
}

/// A column, and its types in the files added so far.
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

    /// Adds a file.
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
            // pandas ignores frames without rows, whose columns are objects, when it determines the common type.
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
    /// Returns I/O errors, and [`CsvError::Changed`] if `raw` is not the text that was scanned.
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
        let mut rows = RowReader::new(options);
        let mut sink = Printer {
            first,
            indices,
            scan,
            parser: options.floats,
            text: Vec::with_capacity(CHUNK_BYTES + 4096),
            out,
        };
        rows.read(raw, &mut sink, |_| false)?;
        if rows.rows() != scan.schema.rows {
            return Err(CsvError::Changed {
                expected: scan.schema.rows,
                found: rows.rows(),
            });
        }
        sink.out.write_all(&sink.text)?;
        Ok(())
    }
}

/// The types that a column has in the files.
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

    /// Returns the common type. Numbers of different types become doubles. In a column of booleans and numbers, NumPy
    /// converts the booleans to numbers; if there are doubles, pandas converts all values to objects. In any other
    /// column of objects, the values of each file are unchanged.
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

/// Returns the type that determines how the values of a file are formatted. `own` is their type in the file, `common`
/// the common type.
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

/// Formats the rows of a file.
struct Printer<'a, W> {
    first: &'a str,
    /// The index of each column in the file, and the type for its values.
    indices: Vec<(usize, JoinedType)>,
    scan: &'a CsvScan,
    parser: FloatParser,
    text: Vec<u8>,
    out: W,
}

impl<W: Write> RowSink for Printer<'_, W> {
    fn row(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        let changed = CsvError::Changed {
            expected: self.scan.schema.rows,
            found: row.number,
        };
        push_minimal(&mut self.text, self.first.as_bytes(), b',');
        for (index, joined) in &self.indices {
            self.text.push(b',');
            let cell = row.content(index + self.scan.index_columns);
            let block = self.scan.columns.get(*index);
            let block = block.map(|column| column.block(row.number, self.scan.block_rows));
            let formatted = block.and_then(|block| value(&cell, block, *joined, self.parser));
            match formatted {
                Some(value) => value.push_cell(&mut self.text),
                None => return Err(changed),
            }
        }
        self.text.push(b'\n');
        if self.text.len() >= CHUNK_BYTES {
            self.out.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}
