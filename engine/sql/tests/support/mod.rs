//! Tables in memory, and functions that run queries to completion.

#![allow(dead_code, reason = "not every test uses everything")]

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::compute::take;
use prep_spec::model::Query;
use prep_sql::{
    QueryError, QueryLimits, Relation, RelationBatch, RelationBatches, RelationColumn, RowForm,
    ScanError, Session,
};

pub type Tables = BTreeMap<String, Arc<dyn Relation>>;

/// A table in memory.
#[derive(Debug)]
pub struct Memory {
    columns: Vec<RelationColumn>,
    /// The cells of each column.
    pub arrays: Vec<ArrayRef>,
    rows: usize,
    batch_rows: usize,
    last_origin: Option<u64>,
}

impl Memory {
    /// Creates a table from columns. A column consists of its name, whether it is hidden, and its cells.
    pub fn new<N: Into<String>>(columns: Vec<(N, bool, ArrayRef)>) -> Memory {
        let rows = columns[0].2.len();
        let columns = columns.into_iter().map(|(name, hidden, array)| {
            let column = RelationColumn {
                name: name.into(),
                data_type: array.data_type().clone(),
                hidden,
            };
            (column, array)
        });
        let (columns, arrays) = columns.unzip();
        Memory {
            columns,
            arrays,
            rows,
            batch_rows: usize::MAX,
            last_origin: None,
        }
    }

    /// Limits the batches of a scan to `rows` rows, to find code that relies on a single batch.
    pub fn in_batches_of(self, rows: usize) -> Memory {
        Memory {
            batch_rows: rows,
            ..self
        }
    }

    /// Sets the origin of row n to `last - n`, so that origins differ from row numbers.
    pub fn with_origins_down_from(self, last: u64) -> Memory {
        Memory {
            last_origin: Some(last),
            ..self
        }
    }
}

pub fn table(columns: Vec<(&str, ArrayRef)>) -> Arc<dyn Relation> {
    let columns = columns.into_iter();
    let columns = columns.map(|(name, array)| (name, false, array));
    Arc::new(Memory::new(columns.collect()))
}

impl Relation for Memory {
    fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    fn rows(&self) -> u64 {
        self.rows as u64
    }

    fn has_cells(&self, _column: usize) -> bool {
        true
    }

    fn scan(self: Arc<Self>, columns: Vec<usize>, batch: usize) -> RelationBatches {
        let batch = batch.clamp(1, self.batch_rows);
        Box::new((0..self.rows).step_by(batch).map(move |first| {
            let rows = batch.min(self.rows - first);
            // Copies the arrays, because a slice would account for the memory of its entire array.
            let positions = UInt64Array::from_iter_values(first as u64..(first + rows) as u64);
            let arrays = columns.iter();
            let arrays = arrays.map(|column| take(&self.arrays[*column], &positions, None));
            let columns: Result<Vec<ArrayRef>, _> = arrays.collect();
            let columns = columns.map_err(ScanError::from)?;
            Ok(RelationBatch { rows, columns })
        }))
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        let rows = first..first + len as u64;
        rows.map(|row| self.last_origin.map_or(row, |last| last - row))
            .collect()
    }
}

/// Returns the tables that a query reads.
pub fn used(query: &Query, all: &Tables) -> Tables {
    let names = query.tables.iter();
    names
        .filter_map(|name| Some((name.clone(), all.get(name)?.clone())))
        .collect()
}

/// Runs a query, and returns its rows as values, in any order.
pub async fn values(
    text: &str,
    all: &Tables,
    limits: &QueryLimits,
) -> Result<Vec<RecordBatch>, QueryError> {
    let query = Query::parse(text).expect(text);
    let session = Session::new(&std::env::temp_dir());
    let mut rows = session.start(&query, used(&query, all), RowForm::Unordered, limits)?;
    let mut batches = Vec::new();
    while let Some(batch) = rows.next().await? {
        batches.push(batch);
    }
    Ok(batches)
}
