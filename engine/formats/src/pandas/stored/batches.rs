//! Reads columns of a stored table as Arrow arrays.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, SchemaRef};

use crate::pandas::stored::arrays::ArrayBuilder;
use crate::pandas::stored::table::PREFETCH_ROWS;
use crate::pandas::{Cells, ColumnType, CsvError, TextTable};

/// A batch ends when its rows have at least this number of bytes, because a consumer may need several times this
/// memory.
const MAX_BATCH_BYTES: usize = 8 << 20;

/// Rows are long if their average length is at least this number of bytes. Long rows are prefetched, because they span
/// several cache lines.
const LONG_ROW_BYTES: u64 = 256;

/// The rows to read.
#[derive(Debug, Clone)]
pub enum RowSelection {
    /// All rows.
    All,
    /// A range of rows.
    Range(Range<u64>),
    /// Single rows in the given order.
    Rows(Arc<[u64]>),
}

/// Returns the Arrow type of a column. All integers have 64 bits, and all floats are doubles.
#[must_use]
pub fn arrow_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::Int64 | ColumnType::Int32 | ColumnType::Int16 | ColumnType::Int8 => {
            DataType::Int64
        }
        ColumnType::UInt64 => DataType::UInt64,
        ColumnType::Float64 | ColumnType::Float32 => DataType::Float64,
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Text | ColumnType::Json => DataType::Utf8,
    }
}

impl TextTable {
    /// Reads the columns with these indices in batches of at most `batch` rows. Missing cells become null.
    ///
    /// # Errors
    /// [`CsvError::NoSuchColumn`]. The iterator returns an error if a row does not exist or a cell has the wrong type.
    pub fn read_batches(
        &self,
        columns: &[usize],
        rows: RowSelection,
        batch: usize,
    ) -> Result<Batches<'_>, CsvError> {
        let all = &self.schema().columns;
        let mut fields = Vec::new();
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        for (position, column) in columns.iter().enumerate() {
            let no_column = CsvError::NoSuchColumn {
                column: *column,
                columns: all.len(),
            };
            let found = all.get(*column).ok_or(no_column)?;
            // All fields are nullable, because an empty string becomes null even in a column without missing cells.
            fields.push(Field::new(&found.name, arrow_type(found.kind), true));
            wanted.push((*column, position));
        }
        wanted.sort_unstable();
        let total = match &rows {
            RowSelection::All => self.schema().rows,
            RowSelection::Range(range) => range.end.saturating_sub(range.start),
            RowSelection::Rows(rows) => rows.len() as u64,
        };
        let schema = Arc::new(ArrowSchema::new(fields));
        let kinds = columns
            .iter()
            .filter_map(|column| all.get(*column))
            .map(|column| column.kind)
            .collect();
        Ok(Batches {
            table: self,
            schema,
            kinds,
            wanted,
            is_unordered: matches!(&rows, RowSelection::Rows(rows) if !rows.is_sorted()),
            rows,
            are_long: self.text().len() as u64 / self.schema().rows.max(1) >= LONG_ROW_BYTES,
            at: 0,
            total,
            batch: batch.max(1),
        })
    }
}

/// Iterates over record batches, see [`TextTable::read_batches`].
pub struct Batches<'a> {
    table: &'a TextTable,
    schema: SchemaRef,
    kinds: Vec<ColumnType>,
    /// For each column, its index in the table and in the batch. In the order of the table.
    wanted: Vec<(usize, usize)>,
    rows: RowSelection,
    is_unordered: bool,
    /// Whether rows are so long that the processor does not prefetch the next row.
    are_long: bool,
    /// Number of rows read so far.
    at: u64,
    /// Number of selected rows.
    total: u64,
    /// Maximum number of rows in a batch.
    batch: usize,
}

impl Batches<'_> {
    /// Returns the schema of the batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Returns the index in the table of the selected row at position `at`.
    fn row(&self, at: u64) -> u64 {
        match &self.rows {
            RowSelection::All => at,
            RowSelection::Range(range) => range.start + at,
            RowSelection::Rows(rows) => usize::try_from(at)
                .ok()
                .and_then(|at| rows.get(at))
                .copied()
                .unwrap_or(u64::MAX),
        }
    }

    /// Prefetches the next rows if they were selected one by one, or if rows are long.
    fn fetch_next(&self) {
        let mut next = [0; PREFETCH_ROWS];
        if let RowSelection::Rows(rows) = &self.rows {
            let next = usize::try_from(self.at).ok().and_then(|at| rows.get(at..));
            let next = next.unwrap_or_default();
            self.table.fetch(next.get(..PREFETCH_ROWS).unwrap_or(next));
        } else if self.are_long {
            let first = self.row(self.at);
            for (row, slot) in (first..).zip(&mut next) {
                *slot = row;
            }
            self.table.fetch(&next);
        }
    }

    /// Reads the next batch.
    fn read(&mut self) -> Result<RecordBatch, CsvError> {
        let size = usize::try_from(self.total - self.at)
            .unwrap_or(usize::MAX)
            .min(self.batch);
        let mut builders: Vec<ArrayBuilder> = self
            .kinds
            .iter()
            .map(|kind| ArrayBuilder::new(*kind, size))
            .collect();
        let first = self.row(self.at);
        // Number of rows and bytes in the batch, and the number of bytes that `record_lookups` received.
        let (mut count, mut text, mut recorded) = (0, 0, 0);
        while count < size && text < MAX_BATCH_BYTES {
            if count.is_multiple_of(PREFETCH_ROWS) {
                if self.is_unordered && count > 0 {
                    self.table
                        .record_lookups(PREFETCH_ROWS as u64, (text - recorded) as u64);
                    recorded = text;
                }
                self.fetch_next();
            }
            let row = self.row(self.at);
            let line = self.table.row(row)?;
            text += line.len();
            let mut cells = Cells::split_line(line, self.table.schema().columns.len()).enumerate();
            let mut current = None;
            for (column, position) in &self.wanted {
                while current.is_none_or(|(index, _)| index < *column) {
                    current = cells.next();
                    if current.is_none() {
                        return Err(self.mismatch(row, *column, "the row is too short"));
                    }
                }
                let cell = current.map_or(b"".as_slice(), |(_, cell)| cell);
                let fits = builders
                    .get_mut(*position)
                    .is_some_and(|builder| builder.push(cell));
                if !fits {
                    let cell = String::from_utf8_lossy(cell).into_owned();
                    return Err(self.mismatch(
                        row,
                        *column,
                        &format!("`{cell}` does not fit the type of the column"),
                    ));
                }
            }
            self.at += 1;
            count += 1;
        }
        if !self.is_unordered {
            // The pages that the batch has read are not needed again.
            let end = self.row(self.at - 1).saturating_add(1);
            self.table.release(
                self.table.offset(first) as usize,
                self.table.offset(end) as usize,
            );
        }
        let arrays = builders.into_iter().enumerate();
        let arrays = arrays.map(|(position, builder)| {
            builder.finish().map_err(|at| {
                let column = self.wanted.iter().find(|(_, wanted)| *wanted == position);
                let row = self.row(self.at - (count - at) as u64);
                self.mismatch(
                    row,
                    column.map_or(0, |(column, _)| *column),
                    "a string is not UTF-8",
                )
            })
        });
        let arrays = arrays.collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(
            self.schema(),
            arrays,
            &options,
        )?)
    }

    /// Returns the error for a cell that violates `rule`.
    fn mismatch(&self, row: u64, column: usize, rule: &str) -> CsvError {
        let name = self
            .table
            .schema()
            .columns
            .get(column)
            .map_or("", |column| &column.name);
        CsvError::NotCanonical {
            row: row + 1,
            offset: self.table.offset(row),
            rule: format!("column `{name}`: {rule}"),
        }
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<RecordBatch, CsvError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.total {
            return None;
        }
        let batch = self.read();
        if batch.is_err() {
            self.at = self.total;
        }
        Some(batch)
    }
}
