//! Reads a table of canonical text as a relation.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt64Array};
use arrow::compute::{TakeOptions, cast, take};
use arrow::datatypes::DataType;
use prep_formats::pandas::{RowSelection, arrow_type};
use prep_sql::{Relation, RelationBatch, RelationBatches, RelationColumn, ScanError};

use super::selected::{SelectedRows, StoredRows};
use crate::value::{RowPositions, StoredText, TableValue};

pub(crate) struct TextRelation {
    table: Arc<StoredText>,
    chosen: SelectedRows,
    columns: Vec<RelationColumn>,
    /// Indices of the columns whose values may be printed differently from their cells.
    printed: BTreeSet<usize>,
}

impl TextRelation {
    pub(crate) fn new(
        table: Arc<StoredText>,
        positions: Option<Arc<RowPositions>>,
        value: &TableValue,
    ) -> TextRelation {
        let columns = table.schema().columns.iter().enumerate();
        let columns = columns.map(|(index, column)| RelationColumn {
            name: column.name.clone(),
            data_type: match value.numbers.contains(&index) {
                true => DataType::Float64,
                false => arrow_type(column.kind),
            },
            hidden: value.hidden.contains(&index),
        });
        let columns: Vec<RelationColumn> = columns.collect();
        let is_printed = |index: &usize| {
            let column = columns.get(*index);
            let is_inferred = column.is_some_and(|one| value.inferred.contains_key(&one.name));
            is_inferred || value.numbers.contains(index)
        };
        TextRelation {
            printed: (0..columns.len()).filter(is_printed).collect(),
            chosen: SelectedRows::new(table.schema().rows, positions),
            table,
            columns,
        }
    }
}

enum ReadOrder {
    /// In the selected order.
    Selected,
    /// In the stored order, each selected row once.
    Stored(StoredRows),
}

impl TextRelation {
    /// Reads columns of the selected rows in batches of at most `batch` rows.
    fn batches(
        self: Arc<Self>,
        columns: Vec<usize>,
        batch: usize,
        mut order: ReadOrder,
    ) -> impl Iterator<Item = Result<RelationBatch, ScanError>> + Send {
        let mut first = 0;
        std::iter::from_fn(move || {
            let rows = match &mut order {
                ReadOrder::Stored(stored) => stored.next(batch)?,
                ReadOrder::Selected => {
                    let len = (self.rows() - first).min(batch as u64);
                    let len = usize::try_from(len).ok().filter(|len| *len > 0)?;
                    match self.chosen.positions() {
                        None => RowSelection::Range(first..first + len as u64),
                        Some(positions) => RowSelection::Rows(positions.range(first, len).into()),
                    }
                }
            };
            let values = self.values(&columns, rows, batch);
            let count = values.as_ref().map_or(batch, |values| values.rows);
            // If rows are long, the batch has fewer rows than requested.
            first += count as u64;
            if let ReadOrder::Stored(stored) = &mut order {
                stored.read(count);
            }
            Some(values)
        })
    }

    /// Reads `columns` of the first rows that `rows` selects, at most `batch` rows. Converts them to the relation's
    /// types.
    fn values(
        &self,
        columns: &[usize],
        rows: RowSelection,
        batch: usize,
    ) -> Result<RelationBatch, ScanError> {
        let (rows, arrays) = match self.table.values(columns)? {
            Some(values) => select(&values, &rows)?,
            None => {
                let (table, indices) = self.table.table_with(columns)?;
                let mut batches = table.read_batches(&indices, rows, batch)?;
                let read = batches.next().ok_or("a stored table ends early")??;
                (read.num_rows(), read.columns().to_vec())
            }
        };
        let arrays =
            columns
                .iter()
                .zip(arrays)
                .map(|(column, array)| match self.columns.get(*column) {
                    Some(column) if column.data_type != *array.data_type() => {
                        Ok(cast(&array, &column.data_type)?)
                    }
                    _ => Ok(array),
                });
        Ok(RelationBatch {
            rows,
            columns: arrays.collect::<Result<_, ScanError>>()?,
        })
    }
}

/// Selects rows of the columns `values`. Returns the number of the selected rows, and the columns with only these rows.
fn select(values: &[ArrayRef], rows: &RowSelection) -> Result<(usize, Vec<ArrayRef>), ScanError> {
    let all = values.first().map_or(0, |values| values.len());
    let range = match rows {
        RowSelection::All => 0..all,
        RowSelection::Range(range) => usize::try_from(range.start)?..usize::try_from(range.end)?,
        RowSelection::Rows(rows) => {
            let indices = UInt64Array::from_iter_values(rows.iter().copied());
            let options = TakeOptions { check_bounds: true };
            let taken = values.iter();
            let taken = taken.map(|values| take(values, &indices, Some(options.clone())));
            return Ok((rows.len(), taken.collect::<Result<_, _>>()?));
        }
    };
    if range.end > all {
        return Err("a stored table ends early".into());
    }
    let slices = values.iter();
    let slices = slices.map(|values| values.slice(range.start, range.len()));
    Ok((range.len(), slices.collect()))
}

impl fmt::Debug for TextRelation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextRelation")
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

impl Relation for TextRelation {
    fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    fn rows(&self) -> u64 {
        self.chosen.len()
    }

    fn has_cells(&self, _column: usize) -> bool {
        true
    }

    fn prints_cells(&self, column: usize) -> bool {
        self.printed.contains(&column)
    }

    fn scan(self: Arc<Self>, columns: Vec<usize>, batch: usize) -> RelationBatches {
        Box::new(self.batches(columns, batch, ReadOrder::Selected))
    }

    fn scan_unordered(self: Arc<Self>, columns: Vec<usize>, batch: usize) -> RelationBatches {
        let order = self
            .chosen
            .stored_rows()
            .map_or(ReadOrder::Selected, ReadOrder::Stored);
        Box::new(self.batches(columns, batch, order))
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        self.chosen.origins(first, len)
    }
}
