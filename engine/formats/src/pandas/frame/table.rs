//! A table in memory with typed columns, for grading.

use std::io::Read;
use std::sync::{Mutex, PoisonError};

use super::guess::FrameScanner;
use crate::pandas::read::rows::{RawRow, RowReader, RowSink};
use crate::pandas::types::infer::{RawValue, value};
use crate::pandas::{
    CellValue, ColumnType, CsvError, CsvScan, FileContent, ObjectColumn, PackedNumbers, ReadOptions,
};

/// A table in memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frame {
    /// The columns from left to right. An empty file has no columns.
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

/// The cells of a column. The variants are the dtypes of pandas.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnData {
    /// `int64`, and narrower integers on request.
    Int64(PackedNumbers<i64>),
    /// `uint64`.
    UInt64(Vec<u64>),
    /// `float64`, and `float32` on request. NaN is a missing cell.
    Float64(PackedNumbers<f64>),
    /// `bool`.
    Bool(Vec<bool>),
    /// `object`: text, booleans with missing cells, columns whose blocks of rows have different types, and columns
    /// without rows.
    Object(ObjectColumn),
}

impl Frame {
    /// Returns the column `name`.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&FrameColumn> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl FrameColumn {
    /// Returns a cell as text, or `None` if it is missing.
    #[must_use]
    pub fn text(&self, row: usize) -> Option<String> {
        self.data.value(row).text()
    }
}

impl ColumnData {
    /// Returns the number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            ColumnData::Int64(values) => values.len(),
            ColumnData::UInt64(values) => values.len(),
            ColumnData::Float64(values) => values.len(),
            ColumnData::Bool(values) => values.len(),
            ColumnData::Object(cells) => cells.len(),
        }
    }

    /// Returns whether there are no cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the cell of a row. NaN and cells beyond the last row are missing.
    #[must_use]
    pub fn value(&self, row: usize) -> CellValue<'_> {
        let value = match self {
            ColumnData::Int64(values) => values.get(row).map(CellValue::Int),
            ColumnData::UInt64(values) => values.get(row).copied().map(CellValue::UInt),
            ColumnData::Float64(values) => values.get(row).map(CellValue::Float),
            ColumnData::Bool(values) => values.get(row).copied().map(CellValue::Bool),
            ColumnData::Object(cells) => cells.get(row),
        };
        match value {
            None => CellValue::Missing,
            Some(CellValue::Float(value)) if value.is_nan() => CellValue::Missing,
            Some(value) => value,
        }
    }

    /// Iterates over the cells.
    pub fn values(&self) -> impl Iterator<Item = CellValue<'_>> {
        (0..self.len()).map(|row| self.value(row))
    }

    /// Returns the number of missing cells.
    #[must_use]
    pub fn missing(&self) -> usize {
        let rows = 0..self.len();
        match self {
            ColumnData::Int64(_) | ColumnData::UInt64(_) | ColumnData::Bool(_) => 0,
            ColumnData::Float64(values) => rows
                .filter(|row| values.get(*row).is_some_and(f64::is_nan))
                .count(),
            ColumnData::Object(cells) => rows.filter(|row| cells.is_missing(*row)).count(),
        }
    }
}

/// Reads an entire CSV file as `read_csv` does. An empty file yields a table without columns.
///
/// # Errors
/// [`CsvError`] at the first position where pandas rejects the file.
pub fn read_frame(bytes: &[u8], options: &ReadOptions) -> Result<Frame, CsvError> {
    let limits = FrameLimits {
        cells: u64::MAX,
        kept_bytes: usize::MAX,
    };
    ScannedFrame::scan(FileContent::Bytes(bytes), options, limits)?.frame()
}

/// Limits of [`ScannedFrame::scan`].
#[derive(Debug, Clone, Copy)]
pub struct FrameLimits {
    /// A table with more cells is the error [`CsvError::TooManyCells`].
    pub cells: u64,
    /// Memory in bytes for the cells that are kept during the scan. If the cells of the table need more, none are kept.
    pub kept_bytes: usize,
}

/// A scanned CSV file, with known names, types and number of rows. Cells that the scan did not keep are read on demand.
#[derive(Debug)]
pub struct ScannedFrame<'a> {
    content: FileContent<'a>,
    options: ReadOptions,
    scan: CsvScan,
    /// The cells of each column, if the scan kept them and they have not been read yet.
    kept: Mutex<Vec<Option<ColumnData>>>,
}

impl<'a> ScannedFrame<'a> {
    /// Scans a file.
    ///
    /// # Errors
    /// Same as [`read_frame`], and [`CsvError::TooManyCells`].
    pub fn scan(
        content: FileContent<'a>,
        options: &ReadOptions,
        limits: FrameLimits,
    ) -> Result<Self, CsvError> {
        let mut rows = RowReader::new(options);
        let mut scanner = FrameScanner::new(options, limits.kept_bytes);
        content.for_each_chunk(|chunk| {
            rows.feed(chunk, &mut scanner)?;
            match rows.rows().saturating_mul(scanner.width() as u64) > limits.cells {
                true => Err(CsvError::TooManyCells { most: limits.cells }),
                false => Ok(()),
            }
        })?;
        rows.finish(&mut scanner)?;
        let (scan, kept) = scanner.finish(rows.rows());
        Ok(Self {
            content,
            options: options.clone(),
            scan,
            kept: Mutex::new(kept),
        })
    }

    /// Iterates over the names of the columns, which are unique.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let columns = self.scan.schema.columns.iter();
        columns.map(|column| column.name.as_str())
    }

    /// Returns the number of fields at the left of each row that pandas uses as an index. The header lacks these fields.
    #[must_use]
    pub fn surplus_fields(&self) -> usize {
        self.scan.index_columns
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        usize::try_from(self.scan.schema.rows).unwrap_or(usize::MAX)
    }

    /// Reads the entire table.
    pub fn frame(&self) -> Result<Frame, CsvError> {
        let all: Vec<usize> = (0..self.scan.columns.len()).collect();
        let columns = self.names().zip(self.read(&all, usize::MAX)?);
        let columns = columns.map(|(name, data)| FrameColumn {
            name: name.to_owned(),
            data,
        });
        Ok(Frame {
            columns: columns.collect(),
            rows: self.rows(),
        })
    }

    /// Returns the columns with the indices `columns`, in this order.
    ///
    /// If the scan kept the cells of a column, the first call for this column returns them. Otherwise the first `rows` rows
    /// of the column are read from the file.
    ///
    /// # Errors
    /// Same as [`read_frame`], and [`CsvError::Changed`] if the file changed after the scan.
    pub fn read(&self, columns: &[usize], rows: usize) -> Result<Vec<ColumnData>, CsvError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = columns.iter().map(|column| kept.get_mut(*column)?.take());
        let found: Vec<Option<ColumnData>> = found.collect();
        drop(kept);
        let lacking = columns
            .iter()
            .zip(&found)
            .filter(|(_, data)| data.is_none());
        let lacking: Vec<usize> = lacking.map(|(column, _)| *column).collect();
        let mut read = match lacking.is_empty() {
            true => Vec::new(),
            false => self.read_from_file(&lacking, rows)?,
        }
        .into_iter();
        let columns = found.into_iter().map(|data| data.or_else(|| read.next()));
        Ok(columns.flatten().collect())
    }

    /// Reads the first `rows` rows of columns with a second pass over the file.
    fn read_from_file(&self, columns: &[usize], rows: usize) -> Result<Vec<ColumnData>, CsvError> {
        let reader = FrameReader::new(&self.scan, &self.options, columns, rows);
        reader.read(self.content.reader())
    }
}

/// Reads columns of a scanned file with a second pass, for tests.
#[cfg(test)]
pub(super) fn read_rows(
    bytes: &[u8],
    options: &ReadOptions,
    scan: &CsvScan,
    columns: &[usize],
) -> Result<Vec<ColumnData>, CsvError> {
    FrameReader::new(scan, options, columns, usize::MAX).read(bytes)
}

/// Reads columns of a file whose types are known.
struct FrameReader<'a> {
    scan: &'a CsvScan,
    options: &'a ReadOptions,
    /// The index of each column in the file, and its cells so far.
    columns: Vec<(usize, ColumnData)>,
    /// Number of rows so far.
    rows: usize,
    max_rows: usize,
}

impl<'a> FrameReader<'a> {
    fn new(scan: &'a CsvScan, options: &'a ReadOptions, wanted: &[usize], max_rows: usize) -> Self {
        let max_rows = max_rows.min(usize::try_from(scan.schema.rows).unwrap_or(usize::MAX));
        let data = |&index: &usize| {
            let column = scan.schema.columns.get(index)?;
            // Reserves the final size, because a growing vector temporarily takes twice its size.
            let data = match column.kind {
                ColumnType::Int64 | ColumnType::Int32 | ColumnType::Int16 | ColumnType::Int8 => {
                    ColumnData::Int64(PackedNumbers::with_capacity(max_rows))
                }
                ColumnType::UInt64 => ColumnData::UInt64(Vec::with_capacity(max_rows)),
                ColumnType::Float64 | ColumnType::Float32 => {
                    ColumnData::Float64(PackedNumbers::with_capacity(max_rows))
                }
                ColumnType::Bool if !column.nullable => {
                    ColumnData::Bool(Vec::with_capacity(max_rows))
                }
                ColumnType::Bool | ColumnType::Text | ColumnType::Json => {
                    ColumnData::Object(ObjectColumn::default())
                }
            };
            Some((index, data))
        };
        Self {
            scan,
            options,
            columns: wanted.iter().filter_map(data).collect(),
            rows: 0,
            max_rows,
        }
    }

    fn read(mut self, input: impl Read) -> Result<Vec<ColumnData>, CsvError> {
        let mut reader = RowReader::new(self.options);
        reader.read(input, &mut self, FrameReader::is_full)?;
        if self.rows < self.max_rows {
            return Err(CsvError::Changed {
                expected: self.scan.schema.rows,
                found: self.rows as u64,
            });
        }
        Ok(self.columns.into_iter().map(|(_, data)| data).collect())
    }

    fn is_full(&self) -> bool {
        self.rows >= self.max_rows
    }
}

impl RowSink for FrameReader<'_> {
    fn row(&mut self, row: &RawRow<'_>) -> Result<(), CsvError> {
        if self.is_full() {
            return Ok(());
        }
        self.rows += 1;
        let scan = self.scan;
        let changed = || CsvError::Changed {
            expected: scan.schema.rows,
            found: row.number,
        };
        for (index, data) in &mut self.columns {
            let scanned = scan.columns.get(*index).ok_or_else(changed)?;
            let cell = row.content(*index + scan.index_columns);
            let block = scanned.block(row.number, scan.block_rows);
            let value =
                value(&cell, block, scanned.joined, self.options.floats).ok_or_else(changed)?;
            match (data, value) {
                (ColumnData::Int64(data), RawValue::Int(value)) => data.push(value),
                (ColumnData::UInt64(data), RawValue::UInt(value)) => data.push(value),
                (ColumnData::Float64(data), RawValue::Float(value)) => data.push(value),
                (ColumnData::Float64(data), RawValue::Float32(value)) => {
                    data.push(f64::from(value))
                }
                (ColumnData::Float64(data), RawValue::Missing) => data.push(f64::NAN),
                (ColumnData::Bool(data), RawValue::Bool(value)) => data.push(value),
                (ColumnData::Object(data), value) => push(data, value),
                _ => return Err(changed()),
            }
        }
        Ok(())
    }
}

/// Appends a value to a column of objects.
pub(super) fn push(data: &mut ObjectColumn, value: RawValue<'_>) {
    data.push(match value {
        RawValue::Missing => CellValue::Missing,
        RawValue::Bool(value) => CellValue::Bool(value),
        RawValue::Int(value) => CellValue::Int(value),
        RawValue::UInt(value) => CellValue::UInt(value),
        RawValue::Float(value) => CellValue::Float(value),
        RawValue::Float32(value) => CellValue::Float(f64::from(value)),
        RawValue::Text(value) => match std::str::from_utf8(value) {
            Ok(text) => CellValue::Text(text),
            Err(_) => return data.push(CellValue::Text(&String::from_utf8_lossy(value))),
        },
    });
}
