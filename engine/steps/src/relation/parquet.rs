//! A parquet file as a relation, read batch by batch.

use std::fmt;
use std::fs::File;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::compute::{cast, concat_batches, take};
use arrow::datatypes::DataType;
use prep_formats::parquet::{ParquetError, ParquetTable};
use prep_sql::{Relation, RelationColumn, ScanError, Values};

use super::chosen::Chosen;
use crate::value::Positions;

pub(crate) struct ParquetRelation {
    table: ParquetTable<Arc<File>>,
    chosen: Chosen,
    columns: Vec<RelationColumn>,
}

impl ParquetRelation {
    pub(crate) fn open(
        file: File,
        bytes: u64,
        positions: Option<Arc<Positions>>,
    ) -> Result<ParquetRelation, ParquetError> {
        let table = ParquetTable::open(Arc::new(file), 0..bytes)?;
        let columns = table.schema().fields().iter().map(|field| RelationColumn {
            name: field.name().clone(),
            data_type: plain(field.data_type()),
            hidden: false,
        });
        let columns = columns.collect();
        Ok(ParquetRelation {
            chosen: Chosen::new(table.rows(), positions),
            table,
            columns,
        })
    }

    fn batches(
        &self,
        columns: &[usize],
        batch: usize,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, ScanError>> + Send + use<>, ScanError>
    {
        let names: Vec<&str> = columns
            .iter()
            .map(|column| self.columns[*column].name.as_str())
            .collect();
        let batches = self.table.batches(Some(&names), None, batch)?;
        Ok(batches.map(|batch| batch.map_err(ScanError::from)))
    }

    /// The values of a batch in the relation's types.
    fn values(&self, columns: &[usize], batch: &RecordBatch) -> Result<Values, ScanError> {
        let arrays = columns.iter().zip(batch.columns()).map(|(column, array)| {
            let wanted = &self.columns[*column].data_type;
            if array.data_type() == wanted {
                Ok(array.clone())
            } else {
                Ok(cast(array, wanted)?)
            }
        });
        let columns = arrays.collect::<Result<Vec<ArrayRef>, ScanError>>()?;
        Ok(Values {
            rows: batch.num_rows(),
            columns,
        })
    }
}

/// Strings of any encoding are `Utf8` to queries.
fn plain(data_type: &DataType) -> DataType {
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

    fn has_cells(&self, _column: usize) -> bool {
        false
    }

    fn scan(
        self: Arc<Self>,
        columns: Vec<usize>,
        batch: usize,
    ) -> Box<dyn Iterator<Item = Result<Values, ScanError>> + Send> {
        let batches = match self.batches(&columns, batch) {
            Ok(batches) => batches,
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        match self.chosen.positions().cloned() {
            None => Box::new(batches.map(move |batch| self.values(&columns, &batch?))),
            Some(positions) if positions.is_ascending() => {
                // Rows in file order: one pass, keeping what is chosen.
                let mut wanted = 0;
                let mut start = 0;
                Box::new(batches.map(move |batch| {
                    let batch = batch?;
                    let end = start + batch.num_rows() as u64;
                    let mut rows = Vec::new();
                    while let Some(row) = positions.get(wanted).filter(|row| *row < end) {
                        rows.push(row - start);
                        wanted += 1;
                    }
                    start = end;
                    self.values(&columns, &choose(&batch, rows)?)
                }))
            }
            Some(positions) => {
                // Any order: the requested columns have to be held whole.
                let whole = batches.collect::<Result<Vec<_>, _>>().and_then(|batches| {
                    let schema = batches
                        .first()
                        .map(RecordBatch::schema)
                        .ok_or("an empty parquet file has no rows to choose")?;
                    Ok(concat_batches(&schema, &batches)?)
                });
                let mut first = 0;
                Box::new(std::iter::from_fn(move || {
                    let rows = positions.range(first, batch);
                    if rows.is_empty() {
                        return None;
                    }
                    first += rows.len() as u64;
                    Some(match &whole {
                        Ok(whole) => {
                            choose(whole, rows).and_then(|batch| self.values(&columns, &batch))
                        }
                        Err(error) => Err(error.to_string().into()),
                    })
                }))
            }
        }
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        self.chosen.origins(first, len)
    }
}

/// Some rows of a batch, in the given order.
fn choose(batch: &RecordBatch, rows: Vec<u64>) -> Result<RecordBatch, ScanError> {
    let rows = UInt64Array::from(rows);
    let columns = batch
        .columns()
        .iter()
        .map(|column| take(column, &rows, None))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}
