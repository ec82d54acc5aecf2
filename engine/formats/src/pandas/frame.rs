//! A table in memory with typed columns, for graders.

use super::join::Joined;
use super::rows::{RawRow, RowReader, RowSink, Shape};
use super::value::{Value, value};
use super::{ColumnType, CsvError, ReadOptions, Scan, Scanner};

/// A table in memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frame {
    /// The columns from left to right. An empty file has none.
    pub columns: Vec<FrameColumn>,
    /// Number of rows.
    pub rows: usize,
}

/// A column of a [`Frame`].
#[derive(Debug, Clone, PartialEq)]
pub struct FrameColumn {
    /// The name, unique in its frame.
    pub name: String,
    /// The cells.
    pub data: ColumnData,
}

/// The cells of a column, by dtype.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnData {
    /// `int64`, and narrower integers that were asked for.
    Int64(Vec<i64>),
    /// `uint64`.
    UInt64(Vec<u64>),
    /// `float64`, and `float32` that was asked for. NaN is missing.
    Float64(Vec<f64>),
    /// `bool`.
    Bool(Vec<bool>),
    /// `object`: text, booleans with gaps, blocks of different types, and every column of a frame without rows.
    Object(Vec<Cell>),
}

/// One object of an `object` column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// NaN.
    Missing,
    /// `True` or `False`.
    Bool(bool),
    /// A Python integer.
    Int(i64),
    /// A Python integer from a `uint64` block.
    UInt(u64),
    /// A Python float; not NaN.
    Float(f64),
    /// A string; may be empty.
    Text(Box<str>),
}

impl Frame {
    /// The column called `name`.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&FrameColumn> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// Reads a whole CSV file as `read_csv` does. An empty file gives a frame without columns.
///
/// # Errors
/// The first place where pandas would refuse the file.
pub fn read_frame(bytes: &[u8], options: &ReadOptions) -> Result<Frame, CsvError> {
    ScannedFrame::of(bytes, options)?.read()
}

/// A CSV file in memory of which columns, types and number of rows are known, and whose cells are not made yet.
#[derive(Debug)]
pub struct ScannedFrame<'a> {
    bytes: &'a [u8],
    options: &'a ReadOptions,
    scan: Scan,
}

impl<'a> ScannedFrame<'a> {
    /// Looks through a file.
    ///
    /// # Errors
    /// As [`read_frame`].
    pub fn of(bytes: &'a [u8], options: &'a ReadOptions) -> Result<Self, CsvError> {
        let mut scanner = Scanner::new(options);
        scanner.feed(bytes)?;
        let scan = scanner.finish()?;
        Ok(Self {
            bytes,
            options,
            scan,
        })
    }

    fn names(&self) -> impl Iterator<Item = String> {
        let columns = self.scan.schema.columns.iter();
        columns.map(|column| column.name.clone())
    }

    /// Names of columns and the number of rows; no column has cells.
    #[must_use]
    pub fn shape(&self) -> Frame {
        let data = ColumnData::Object(Vec::new());
        let columns = self.names().map(|name| FrameColumn {
            name,
            data: data.clone(),
        });
        Frame {
            columns: columns.collect(),
            rows: usize::try_from(self.scan.schema.rows).unwrap_or(usize::MAX),
        }
    }

    /// The table.
    ///
    /// # Errors
    /// As [`read_frame`].
    pub fn read(&self) -> Result<Frame, CsvError> {
        let mut rows = RowReader::new(self.options);
        let mut builder = Builder::new(&self.scan, self.options);
        rows.feed(self.bytes, &mut builder)?;
        rows.finish(&mut builder)?;
        let columns = self.names().zip(builder.columns);
        let columns = columns.map(|(name, data)| FrameColumn { name, data });
        Ok(Frame {
            columns: columns.collect(),
            rows: usize::try_from(rows.rows()).unwrap_or(usize::MAX),
        })
    }
}

struct Builder<'a> {
    scan: &'a Scan,
    options: &'a ReadOptions,
    columns: Vec<ColumnData>,
}

impl<'a> Builder<'a> {
    fn new(scan: &'a Scan, options: &'a ReadOptions) -> Self {
        // Known by now: a vector that grows takes twice its size for a while.
        let rows = usize::try_from(scan.schema.rows).unwrap_or(0);
        let columns = scan.columns.iter().zip(&scan.schema.columns);
        let columns = columns
            .map(|(scanned, column)| match (scanned.joined, column.kind) {
                (Joined::Object | Joined::ObjectOfIntegers | Joined::ObjectOfFloats, _) => {
                    ColumnData::Object(Vec::with_capacity(rows))
                }
                (
                    _,
                    ColumnType::Int64 | ColumnType::Int32 | ColumnType::Int16 | ColumnType::Int8,
                ) => ColumnData::Int64(Vec::with_capacity(rows)),
                (_, ColumnType::UInt64) => ColumnData::UInt64(Vec::with_capacity(rows)),
                (_, ColumnType::Float64 | ColumnType::Float32) => {
                    ColumnData::Float64(Vec::with_capacity(rows))
                }
                (_, ColumnType::Bool) if !column.nullable => {
                    ColumnData::Bool(Vec::with_capacity(rows))
                }
                (_, ColumnType::Bool | ColumnType::Text | ColumnType::Json) => {
                    ColumnData::Object(Vec::with_capacity(rows))
                }
            })
            .collect();
        Self {
            scan,
            options,
            columns,
        }
    }
}

impl RowSink for Builder<'_> {
    fn header(&mut self, _: &RawRow<'_>) -> Result<(), CsvError> {
        Ok(())
    }

    fn shape(&mut self, _: Shape) -> Result<(), CsvError> {
        Ok(())
    }

    fn row(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        let changed = || CsvError::Changed {
            expected: self.scan.schema.rows,
            found: row.number,
        };
        for (i, (scanned, data)) in self.scan.columns.iter().zip(&mut self.columns).enumerate() {
            let cell = row.content(i + self.scan.index_columns);
            let block = scanned.block(row.number, self.scan.block_rows);
            let value =
                value(&cell, block, scanned.joined, self.options.floats).ok_or_else(changed)?;
            match (data, value) {
                (ColumnData::Int64(data), Value::Int(value)) => data.push(value),
                (ColumnData::UInt64(data), Value::UInt(value)) => data.push(value),
                (ColumnData::Float64(data), Value::Float(value)) => data.push(value),
                (ColumnData::Float64(data), Value::Float32(value)) => data.push(f64::from(value)),
                (ColumnData::Float64(data), Value::Missing) => data.push(f64::NAN),
                (ColumnData::Bool(data), Value::Bool(value)) => data.push(value),
                (ColumnData::Object(data), value) => data.push(cell_of(value)),
                _ => return Err(changed()),
            }
        }
        Ok(())
    }
}

fn cell_of(value: Value<'_>) -> Cell {
    match value {
        Value::Missing => Cell::Missing,
        Value::Bool(value) => Cell::Bool(value),
        Value::Int(value) => Cell::Int(value),
        Value::UInt(value) => Cell::UInt(value),
        Value::Float(value) => Cell::Float(value),
        Value::Float32(value) => Cell::Float(f64::from(value)),
        Value::Text(value) => Cell::Text(String::from_utf8_lossy(value).into()),
    }
}
