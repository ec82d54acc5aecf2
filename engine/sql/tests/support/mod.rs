//! Tables in memory, and functions that run queries to completion.

#![allow(dead_code, reason = "not every test uses everything")]

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::compute::take;
use prep_spec::model::Query;
use prep_sql::{
    QueryError, QueryLimits, Relation, RelationBatch, RelationColumn, RowForm, ScanError, Session,
};

pub type Tables = BTreeMap<String, Arc<dyn Relation>>;

#[derive(Debug)]
pub struct Memory {
    columns: Vec<RelationColumn>,
    arrays: Vec<ArrayRef>,
    rows: usize,
}

pub fn table(columns: Vec<(&str, ArrayRef)>) -> Arc<dyn Relation> {
    let rows = columns[0].1.len();
    let (columns, arrays) = columns
        .into_iter()
        .map(|(name, array)| {
            let column = RelationColumn {
                name: name.to_owned(),
                data_type: array.data_type().clone(),
                hidden: false,
            };
            (column, array)
        })
        .unzip();
    Arc::new(Memory {
        columns,
        arrays,
        rows,
    })
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

    fn scan(
        self: Arc<Self>,
        columns: Vec<usize>,
        batch: usize,
    ) -> Box<dyn Iterator<Item = Result<RelationBatch, ScanError>> + Send> {
        let mut first = 0;
        Box::new(std::iter::from_fn(move || {
            let rows = (self.rows - first).min(batch);
            if rows == 0 {
                return None;
            }
            // Copies the arrays, because a slice would account for the memory of its entire array.
            let positions = UInt64Array::from_iter_values(first as u64..(first + rows) as u64);
            let arrays = columns
                .iter()
                .map(|column| take(&self.arrays[*column], &positions, None));
            let columns: Result<Vec<ArrayRef>, _> = arrays.collect();
            first += rows;
            Some(
                columns
                    .map(|columns| RelationBatch { rows, columns })
                    .map_err(ScanError::from),
            )
        }))
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        (first..first + len as u64).collect()
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
