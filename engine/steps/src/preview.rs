//! Previews, for authors of pipelines: the first rows of a query, and facts about its columns.
//!
//! [`build_preview`](crate::build_preview) builds the tables that the query reads, and a sink that runs the query. The sink
//! keeps only the first rows and counts. Nothing is stored or published.
//!
//! Distinct values are counted by 64-bit hashes. With a million values, the probability of a wrong count is below one in ten
//! million. If there are too many hashes, the column with the most distinct values is no longer counted.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use parking_lot::Mutex;
use prep_cache::Digest;
use prep_core::{Context, Inputs, Sink, StepError};
use prep_spec::SourceFile;
use prep_spec::model::{ColumnKind, Query};
use prep_sql::{ColumnSource, Session, type_name};
use serde::Serialize;

use crate::located::locate_in_query;
use crate::relation::{QueryRun, RowForm, columns_by_table, query_memory, relations};

/// The first rows of a query, and facts about all rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// Number of all rows.
    pub rows: u64,
    /// The columns.
    pub columns: Vec<PreviewColumn>,
    /// The first rows. A missing cell is `None`.
    pub first: Vec<Vec<Option<String>>>,
    /// The tables that the query reads, with their visible columns.
    #[serde(skip)]
    pub tables: Vec<(String, Vec<String>)>,
}

/// A column of a preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PreviewColumn {
    /// The name.
    pub name: String,
    /// The type in queries. `text` for columns whose type is inferred when they are written.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Whether the pipeline declares the column. Queries can select an undeclared column of a file, but cannot compute with
    /// this column. The caller sets this field.
    pub declared: bool,
    /// Number of cells that are not missing.
    pub filled: u64,
    /// Number of distinct values. `None` if there are too many to count.
    pub distinct: Option<u64>,
}

/// A request for a preview, and its result. Clones share the result.
#[derive(Debug, Clone)]
pub struct PreviewRequest {
    /// The query.
    pub query: Query,
    /// The text of the query, for positions in errors.
    pub source: Arc<SourceFile>,
    /// Maximum number of rows to keep.
    pub limit: usize,
    /// The result, after the run.
    pub result: Arc<Mutex<Option<Preview>>>,
}

pub(crate) struct PreviewSink {
    pub request: PreviewRequest,
    pub session: Session,
}

impl Sink for PreviewSink {
    fn kind(&self) -> &'static str {
        "preview"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "sql": self.request.query.key, "limit": self.request.limit })
    }

    /// A preview always runs, because its result is not stored.
    fn difference(&self, _context: &Context, _key: &Digest) -> Result<Option<String>, StepError> {
        Ok(Some("rows were requested".to_owned()))
    }

    fn memory(&self, inputs: &Inputs) -> u64 {
        query_memory(&self.request.query, inputs) + MAX_BYTES
    }

    fn run(&self, context: &Context, _key: &Digest, inputs: &Inputs) -> Result<(), StepError> {
        let run = QueryRun::new(&self.session, &self.request.query, context, inputs);
        let made = preview(run, self.request.limit);
        let made = made.map_err(|error| locate_in_query(&self.request.source, error))?;
        *self.request.result.lock() = Some(made);
        Ok(())
    }
}

fn preview(run: QueryRun<'_>, limit: usize) -> Result<Preview, StepError> {
    let opened = run.open_tables()?;
    let tables = columns_by_table(&relations(&opened));
    let mut rows = run.start(&opened, RowForm::Checked)?;
    let columns = rows.columns().iter().map(|column| PreviewColumn {
        name: column.name.clone(),
        kind: match &column.source {
            ColumnSource::Values(data_type) => type_name(data_type),
            ColumnSource::Cells { .. } => ColumnKind::Text.name(),
        },
        declared: true,
        filled: 0,
        distinct: None,
    });
    let mut preview = Preview {
        rows: 0,
        columns: columns.collect(),
        first: Vec::new(),
        tables,
    };
    let mut distinct = DistinctCounts::new(preview.columns.len());
    while let Some(batch) = rows.next()? {
        let wanted = limit.saturating_sub(preview.first.len());
        let count = wanted.min(batch.num_rows());
        preview.first.append(&mut first_rows(&batch, count)?);
        preview.rows += batch.num_rows() as u64;
        let cells = batch.columns().iter().enumerate().zip(&mut preview.columns);
        for ((index, cells), column) in cells {
            column.filled += (cells.len() - cells.logical_null_count()) as u64;
            distinct.add(index, cells)?;
        }
    }
    for (column, count) in preview.columns.iter_mut().zip(distinct.finish()) {
        column.distinct = count;
    }
    Ok(preview)
}

fn first_rows(batch: &RecordBatch, count: usize) -> Result<Vec<Vec<Option<String>>>, StepError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let options = FormatOptions::default();
    let columns = batch.columns().iter();
    let formatters = columns.map(|column| ArrayFormatter::try_new(column, &options));
    let formatters: Vec<_> = formatters
        .collect::<Result<_, _>>()
        .map_err(StepError::internal)?;
    let cell = |row: usize, column: usize| -> Option<String> {
        let cells = batch.column(column);
        match cells.data_type() {
            _ if cells.is_null(row) => None,
            // pandas writes booleans in this form.
            DataType::Boolean if cells.as_boolean().value(row) => Some("True".to_owned()),
            DataType::Boolean => Some("False".to_owned()),
            _ => formatters
                .get(column)
                .map(|format| format.value(row).to_string()),
        }
    };
    let row = |row: usize| {
        (0..batch.num_columns())
            .map(|column| cell(row, column))
            .collect()
    };
    Ok((0..count).map(row).collect())
}

/// If all columns together have more hashes than this, the column with the most distinct values is no longer counted.
const MAX_HASHES: usize = 4 << 20;
/// Maximum memory of the hashes in bytes. A slot of a hash set takes 9 bytes. While a set grows, it takes three slots
/// per hash: two in the new set, which is half empty, and one in the old set.
const MAX_BYTES: u64 = MAX_HASHES as u64 * 9 * 3;

struct DistinctCounts {
    /// `None` for a column that is no longer counted.
    columns: Vec<Option<HashSet<u64>>>,
    hashes: usize,
    max_hashes: usize,
}

impl DistinctCounts {
    fn new(columns: usize) -> DistinctCounts {
        DistinctCounts {
            columns: vec![Some(HashSet::new()); columns],
            hashes: 0,
            max_hashes: MAX_HASHES,
        }
    }

    /// Adds cells of the column with the index `column` to its distinct values. Skips missing cells.
    fn add(&mut self, column: usize, cells: &ArrayRef) -> Result<(), StepError> {
        let Some(Some(seen)) = self.columns.get_mut(column) else {
            return Ok(());
        };
        let fields = vec![SortField::new(cells.data_type().clone())];
        let converter = RowConverter::new(fields).map_err(StepError::internal)?;
        let rows = converter.convert_columns(&[Arc::clone(cells)]);
        let rows = rows.map_err(StepError::internal)?;
        let before = seen.len();
        let nulls = cells.logical_nulls();
        let is_missing = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        for (_, row) in rows.iter().enumerate().filter(|(row, _)| !is_missing(*row)) {
            let mut hasher = DefaultHasher::new();
            hasher.write(row.as_ref());
            seen.insert(hasher.finish());
        }
        self.hashes += seen.len() - before;
        while self.hashes > self.max_hashes {
            self.drop_largest();
        }
        Ok(())
    }

    /// Stops counting the values of the column with the most distinct values.
    fn drop_largest(&mut self) {
        let sizes = self.columns.iter_mut();
        let largest = sizes.max_by_key(|column| column.as_ref().map_or(0, HashSet::len));
        if let Some(freed) = largest.and_then(Option::take) {
            self.hashes -= freed.len();
        }
    }

    fn finish(self) -> impl Iterator<Item = Option<u64>> {
        let columns = self.columns.into_iter();
        columns.map(|column| column.map(|seen| seen.len() as u64))
    }
}

#[cfg(test)]
mod distinct_tests {
    use super::*;
    use arrow::array::{Int64Array, StringArray};

    #[test]
    fn values_of_all_batches_are_counted_except_in_dropped_columns() {
        let mut counts = DistinctCounts::new(3);
        counts.max_hashes = 10;
        for batch in 0..3_i64 {
            let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(batch * 4..batch * 4 + 4));
            let labels: ArrayRef = Arc::new(StringArray::from(vec![
                Some("a"),
                None,
                Some("b"),
                Some("a"),
            ]));
            let missing: ArrayRef = Arc::new(Int64Array::from(vec![None; 4]));
            for (column, cells) in [ids, labels, missing].iter().enumerate() {
                counts.add(column, cells).unwrap();
            }
        }
        assert_eq!(
            counts.finish().collect::<Vec<_>>(),
            [None, Some(2), Some(0)]
        );
    }
}
