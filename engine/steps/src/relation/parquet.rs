//! Reads a Parquet file as a relation, batch by batch. If a table selects rows in another order than that of the file,
//! this module reads the rows in blocks and reorders each block in memory.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::compute::{cast, concat_batches, take};
use arrow::datatypes::DataType;
use prep_formats::limits::DecodingLimits;
use prep_formats::parquet::{ParquetError, ParquetTable};
use prep_sql::{Relation, RelationBatch, RelationBatches, RelationColumn, ScanError};

use super::selected::SelectedRows;
use crate::value::RowPositions;

/// Size in bytes of a block of rows that is reordered in memory.
const BLOCK_BYTES: u64 = 64 << 20;

/// A block of rows that were selected in another order than that of the file.
struct RowBlock {
    /// The rows in the order of the file.
    rows: RecordBatch,
    /// For each selected row, its index in `rows`.
    indices: Vec<u64>,
}

pub(crate) struct ParquetRelation {
    table: ParquetTable<Arc<File>>,
    chosen: SelectedRows,
    columns: Vec<RelationColumn>,
}

impl ParquetRelation {
    /// Opens a file. The columns `numbers` are read as doubles, whatever their type in the file.
    pub(crate) fn open(
        file: File,
        bytes: u64,
        limits: &DecodingLimits,
        numbers: &BTreeSet<usize>,
        positions: Option<Arc<RowPositions>>,
    ) -> Result<ParquetRelation, ParquetError> {
        let table = ParquetTable::open(Arc::new(file), 0..bytes, limits)?;
        let fields = table.schema().fields().iter().enumerate();
        let columns = fields.map(|(index, field)| RelationColumn {
            name: field.name().clone(),
            data_type: match numbers.contains(&index) {
                true => DataType::Float64,
                false => plain(field.data_type()),
            },
            hidden: false,
        });
        let columns = columns.collect();
        Ok(ParquetRelation {
            chosen: SelectedRows::new(table.rows(), positions),
            table,
            columns,
        })
    }

    /// Reads columns of the row group `group`, or of the entire file if `group` is `None`.
    fn batches(
        &self,
        columns: &[usize],
        group: Option<usize>,
        batch: usize,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, ScanError>> + Send + use<>, ScanError>
    {
        let batches = self
            .table
            .batches(Some(&self.names(columns)), group, batch)?;
        Ok(batches.map(|batch| batch.map_err(ScanError::from)))
    }

    fn names(&self, columns: &[usize]) -> Vec<&str> {
        let names = columns
            .iter()
            .filter_map(|column| self.columns.get(*column));
        names.map(|column| column.name.as_str()).collect()
    }

    /// Reads the rows with the indices `rows` in one pass. The indices need not be sorted. In total, the rows must have at
    /// most about [`BLOCK_BYTES`].
    fn read_block(
        &self,
        columns: &[usize],
        rows: &[u64],
        batch: usize,
    ) -> Result<RowBlock, ScanError> {
        let mut order: Vec<u32> = (0..u32::try_from(rows.len())?).collect();
        let row = |index: &u32| rows.get(*index as usize).copied().unwrap_or(u64::MAX);
        order.sort_by_key(row);
        let mut requested = order.iter().map(row).peekable();
        let mut chosen = Vec::new();
        let mut start = 0;
        for (group, count) in self.table.row_groups().enumerate() {
            let end = start + count;
            if requested.peek().is_some_and(|row| *row < end) {
                for batch in self.batches(columns, Some(group), batch)? {
                    let batch = batch?;
                    let batch_end = start + batch.num_rows() as u64;
                    let mut selected = Vec::new();
                    while let Some(row) = requested.next_if(|row| *row < batch_end) {
                        selected.push(row - start);
                    }
                    if !selected.is_empty() {
                        chosen.push(select_rows(&batch, selected)?);
                    }
                    start = batch_end;
                }
            }
            start = end;
        }
        let schema = chosen.first().map(RecordBatch::schema);
        let schema = schema.ok_or("an empty parquet file has no rows to choose")?;
        let mut indices = vec![0; order.len()];
        for (index, row) in order.into_iter().enumerate() {
            if let Some(slot) = indices.get_mut(row as usize) {
                *slot = index as u64;
            }
        }
        Ok(RowBlock {
            rows: concat_batches(&schema, &chosen)?,
            indices,
        })
    }

    /// Reads the rows at `positions` in blocks. The positions need not be ascending.
    fn read_in_any_order(
        self: Arc<Self>,
        positions: Arc<RowPositions>,
        columns: Vec<usize>,
        batch: usize,
    ) -> impl Iterator<Item = Result<RelationBatch, ScanError>> + Send {
        let bytes = self.table.decoded_bytes(&self.names(&columns));
        let row_bytes = (bytes / self.table.rows().max(1)).max(1);
        let block_rows = usize::try_from(BLOCK_BYTES / row_bytes)
            .unwrap_or(usize::MAX)
            .max(batch);
        let block_rows = block_rows.min(u32::MAX as usize);
        let mut first = 0;
        // The current block, and the number of its rows that were returned.
        let mut part: Option<(RowBlock, usize)> = None;
        std::iter::from_fn(move || {
            let (current, done) = match part.take() {
                Some((current, done)) if done < current.indices.len() => (current, done),
                _ => {
                    let rows = positions.range(first, block_rows);
                    if rows.is_empty() {
                        return None;
                    }
                    first += rows.len() as u64;
                    match self.read_block(&columns, &rows, batch) {
                        Ok(next) => (next, 0),
                        Err(error) => {
                            first = positions.len();
                            return Some(Err(error));
                        }
                    }
                }
            };
            let end = (done + batch).min(current.indices.len());
            let indices = current.indices.get(done..end).unwrap_or_default().to_vec();
            let values =
                select_rows(&current.rows, indices).and_then(|rows| self.values(&columns, &rows));
            part = Some((current, end));
            Some(values)
        })
    }

    /// Converts the columns of a batch to the types of the relation.
    fn values(&self, columns: &[usize], batch: &RecordBatch) -> Result<RelationBatch, ScanError> {
        let arrays = columns.iter().zip(batch.columns()).map(|(column, array)| {
            let requested = &self.columns[*column].data_type;
            if array.data_type() == requested {
                Ok(array.clone())
            } else {
                Ok(cast(array, requested)?)
            }
        });
        let columns = arrays.collect::<Result<Vec<ArrayRef>, ScanError>>()?;
        Ok(RelationBatch {
            rows: batch.num_rows(),
            columns,
        })
    }
}

/// Returns the type that queries see. Strings in any Arrow encoding are `Utf8`.
pub(crate) fn plain(data_type: &DataType) -> DataType {
    match data_type {
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::Dictionary(_, value) => plain(value),
        other => other.clone(),
    }
}

impl fmt::Debug for ParquetRelation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetRelation")
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

impl Relation for ParquetRelation {
    fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    fn rows(&self) -> u64 {
        self.chosen.len()
    }

    fn scan(self: Arc<Self>, columns: Vec<usize>, batch: usize) -> RelationBatches {
        let positions = self.chosen.positions().cloned();
        if let Some(positions) = positions.clone()
            && !positions.is_ascending()
        {
            return Box::new(self.read_in_any_order(positions, columns, batch));
        }
        let batches = match self.batches(&columns, None, batch) {
            Ok(batches) => batches,
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        let Some(positions) = positions else {
            return Box::new(batches.map(move |batch| self.values(&columns, &batch?)));
        };
        // Rows in file order are read in one pass.
        let mut requested = 0;
        let mut start = 0;
        Box::new(batches.map(move |batch| {
            let batch = batch?;
            let end = start + batch.num_rows() as u64;
            let mut rows = Vec::new();
            while let Some(row) = positions.get(requested).filter(|row| *row < end) {
                rows.push(row - start);
                requested += 1;
            }
            start = end;
            self.values(&columns, &select_rows(&batch, rows)?)
        }))
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        self.chosen.origins(first, len)
    }
}

fn select_rows(batch: &RecordBatch, rows: Vec<u64>) -> Result<RecordBatch, ScanError> {
    let rows = UInt64Array::from(rows);
    let columns = batch
        .columns()
        .iter()
        .map(|column| take(column, &rows, None))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}
