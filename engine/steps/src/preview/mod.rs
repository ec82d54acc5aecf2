//! Previews: the first rows of a query over the tables of a pipeline, and facts about its columns.
//!
//! A preview is for a person who writes a pipeline. [`build_preview`](crate::build_preview) builds a graph with the tables
//! that the query reads, and a sink that runs the query. The sink reads the result once, batch by batch. It keeps the
//! first rows and counts cells, so a preview of a large table needs no more memory than the query itself, and the
//! limited memory of the [`distinct`] counts. Nothing is stored or published.

mod distinct;

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use parking_lot::Mutex;
use prep_cache::Digest;
use prep_core::{Context, Inputs, Sink, StepError};
use prep_spec::SourceFile;
use prep_spec::model::{ColumnKind, Query};
use prep_sql::{ColumnSource, Session, type_name};
use serde::Serialize;

use self::distinct::DistinctCounts;
use crate::located::locate_in_query;
use crate::relation::{QueryRun, RowForm, columns_by_table, query_memory, relations};

/// The first rows of a query, and facts about all of its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// Number of all rows.
    pub rows: u64,
    /// The columns.
    pub columns: Vec<PreviewColumn>,
    /// The first rows. A missing cell is `None`, or null in JSON.
    pub first: Vec<Vec<Option<String>>>,
    /// Columns of the tables that the query reads, by table, without hidden ones.
    #[serde(skip)]
    pub tables: Vec<(String, Vec<String>)>,
}

/// A column of a preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PreviewColumn {
    /// The name.
    pub name: String,
    /// The type in queries; `text` for columns whose type is inferred when they are written.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// False for a column of a file that the pipeline does not declare. Its type is the one that pandas infers. In the
    /// pipeline, a query can only pass it on. The caller, which knows the declarations, sets it.
    pub declared: bool,
    /// Number of cells that are not missing.
    pub filled: u64,
    /// Number of different values; `None` if there are too many to count.
    pub distinct: Option<u64>,
}

/// A request for a preview, and its result after the run. Clones share the result.
#[derive(Debug, Clone)]
pub struct PreviewRequest {
    /// The query.
    pub query: Query,
    /// The text of the query, so that errors have a position in it.
    pub source: Arc<SourceFile>,
    /// Maximum number of rows that are kept.
    pub limit: usize,
    /// The result, after the run.
    pub result: Arc<Mutex<Option<Preview>>>,
}

/// The sink that runs the query.
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

    fn is_current(&self, _context: &Context, _key: &Digest) -> Result<bool, StepError> {
        Ok(false)
    }

    fn memory(&self, inputs: &Inputs) -> u64 {
        query_memory(&self.request.query, inputs) + distinct::MAX_BYTES
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

/// Returns the first rows of a batch as texts.
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
            // As in the files that pandas writes.
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
