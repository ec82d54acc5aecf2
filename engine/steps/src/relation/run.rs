//! Runs queries within a step: their limits, threads and errors.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use prep_cache::{Permit, check_threads};
use prep_core::{Context, Failure, Inputs, StepError, WithRemedy};
use prep_spec::model::Query;
use prep_spec::{list_names, nearest};
use prep_sql::{QueryError, QueryLimits, QueryRows, Relation, ResultColumn, Session};
use tokio::runtime::{Builder, Runtime};

use super::{OpenTable, open, relations};
use crate::located::{Subject, error_at_with_help};
use crate::value::{TREE_PREFIX, TableValue};

/// The form in which a writer needs the rows of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowForm {
    /// In order. A cell that is copied unchanged is replaced by its origin, the number of its stored row.
    Cells,
    /// In order, as values.
    Values,
    /// The rows as values, in any order.
    Unordered,
    /// Like `Unordered`, for a query that was not checked when the pipeline was loaded.
    Checked,
}

/// A query and the step that runs it.
#[derive(Clone, Copy)]
pub(crate) struct QueryRun<'a> {
    pub session: &'a Session,
    pub query: &'a Query,
    pub context: &'a Context,
    pub inputs: &'a Inputs,
}

/// A running query. Returns its rows in batches.
pub(crate) struct RunningQuery<'a> {
    context: &'a Context,
    query: &'a Query,
    rows: QueryRows,
    runtime: Runtime,
    /// Permission to use the helper thread.
    _permit: Option<Permit>,
}

impl<'a> QueryRun<'a> {
    pub(crate) fn new(
        session: &'a Session,
        query: &'a Query,
        context: &'a Context,
        inputs: &'a Inputs,
    ) -> QueryRun<'a> {
        QueryRun {
            session,
            query,
            context,
            inputs,
        }
    }

    /// Opens all inputs that are tables, by name.
    pub(crate) fn open_tables(&self) -> Result<BTreeMap<String, OpenTable>, StepError> {
        let tables = self.inputs.iter();
        let tables = tables.filter(|(name, _)| !name.starts_with(TREE_PREFIX));
        tables
            .map(|(name, value)| Ok((name.clone(), open(self.context, value)?)))
            .collect()
    }

    /// Starts the query on opened tables.
    pub(crate) fn start(
        self,
        tables: &BTreeMap<String, OpenTable>,
        form: RowForm,
    ) -> Result<RunningQuery<'a>, StepError> {
        let QueryRun {
            session,
            query,
            context,
            inputs,
        } = self;
        let cancel = context.cancel.clone();
        let limits = QueryLimits {
            memory: context.claimed_memory(),
            stop: Arc::new(move || cancel.is_cancelled()),
        };
        let tables = relations(tables);
        let (runtime, permit) = runtime(query, context, inputs)?;
        let columns = columns_by_table(&tables);
        let rows = runtime.block_on(async {
            match form {
                RowForm::Cells => session.rows(query, tables, &limits).await,
                RowForm::Values => session.values(query, tables, &limits).await,
                RowForm::Unordered => session.values_unordered(query, tables, &limits).await,
                RowForm::Checked => session.checked_values(query, tables, &limits).await,
            }
        });
        Ok(RunningQuery {
            context,
            query,
            rows: rows.map_err(|error| failed_on(&columns, query, error))?,
            runtime,
            _permit: permit,
        })
    }
}

impl RunningQuery<'_> {
    pub(crate) fn columns(&self) -> &[ResultColumn] {
        self.rows.columns()
    }

    /// Returns true if each row comes from one row of a single table that is scanned once. All origins of a row are
    /// then equal.
    pub(crate) fn has_single_origin(&self) -> bool {
        self.rows.has_single_origin()
    }

    /// Returns the next batch. `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, StepError> {
        self.context.check()?;
        let next = self.runtime.block_on(self.rows.next());
        next.map_err(|error| failed(self.query, error))
    }
}

/// Number of rows from which a second thread makes a query faster.
const MIN_ROWS_FOR_HELPER: u64 = 1 << 17;

/// The threads of a query: the step's own thread and, if possible, a helper that sorts batches while others are merged.
/// The helper requires a query that sorts many rows, an available thread, and a system that can start it.
fn runtime(
    query: &Query,
    context: &Context,
    inputs: &Inputs,
) -> Result<(Runtime, Option<Permit>), StepError> {
    let tables = inputs
        .values()
        .filter_map(|value| TableValue::decode(value).ok());
    let is_helped =
        !query.is_stream() && tables.map(|table| table.len()).sum::<u64>() > MIN_ROWS_FOR_HELPER;
    let permit = match is_helped && check_threads(1).is_ok() {
        true => context.threads.try_take(),
        false => None,
    };
    let runtime = match &permit {
        Some(_) => Builder::new_multi_thread().worker_threads(1).build(),
        None => Builder::new_current_thread().build(),
    };
    Ok((runtime.map_err(StepError::machine)?, permit))
}

/// The columns of each table, except the hidden ones.
type ColumnsByTable = Vec<(String, Vec<String>)>;

pub(crate) fn columns_by_table(tables: &BTreeMap<String, Arc<dyn Relation>>) -> ColumnsByTable {
    let tables = tables.iter();
    let columns = tables.map(|(name, table)| {
        let columns = table.columns().iter().filter(|column| !column.hidden);
        (
            name.clone(),
            columns.map(|column| column.name.clone()).collect(),
        )
    });
    columns.collect()
}

/// Converts an error of planning a query. If a column does not exist, the help lists those that do.
fn failed_on(tables: &ColumnsByTable, query: &Query, error: QueryError) -> StepError {
    let missing = match &error {
        QueryError::Plan { column, .. } => column.as_deref(),
        _ => None,
    };
    let help = missing.map(|missing| {
        let names = tables.iter().flat_map(|(_, columns)| columns);
        let near = nearest(missing, names.map(String::as_str));
        let lists = tables.iter().map(|(table, columns)| {
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            list_names(&format!("`{table}`"), &columns)
        });
        let lists = lists.collect::<Vec<_>>().join("; ");
        match near {
            Some(near) => format!("did you mean `{near}`? {lists}"),
            None => lists,
        }
    });
    failed_with(query, error, help)
}

/// Converts an error of a query to an error of the step, with its location in the query.
fn failed(query: &Query, error: QueryError) -> StepError {
    failed_with(query, error, None)
}

fn failed_with(query: &Query, error: QueryError, help: Option<String>) -> StepError {
    let failure = error.failure();
    if failure == Failure::Cancelled {
        return StepError::Cancelled;
    }
    let (place, help) = (error.place(), error.help().map(str::to_owned).or(help));
    let word = Subject::Query(Box::new(query.clone()), place);
    let remedy = error.remedy();
    error_at_with_help(failure, word, WithRemedy::attach(error, remedy), help)
}

/// Memory in bytes of a query that processes a table row by row.
const STREAM_BYTES: u64 = 64 << 20;
/// Minimum memory in bytes of a query that sorts, joins or groups.
const MIN_WORK_BYTES: u64 = 256 << 20;
/// Bytes per row that an open table needs for row offsets and for the selection of rows.
const INDEX_BYTES_PER_ROW: u64 = 9;
/// Bytes of a number, of the origin of a row, and of its position.
const NUMBER_BYTES: u64 = 8;
/// Number of rows of average size that are in memory at once while a table is processed row by row.
const STREAM_ROWS: u64 = 16;

/// Estimates the memory in bytes that a query needs, in addition to mapped files.
pub(crate) fn query_memory(query: &Query, inputs: &Inputs) -> u64 {
    let computed = query.tree().computed_columns();
    let (mut index, mut bytes, mut largest_row) = (0, 0, 0);
    for (_, value) in inputs
        .iter()
        .filter(|(name, _)| !name.starts_with(TREE_PREFIX))
    {
        let Ok(table) = TableValue::decode(value) else {
            continue;
        };
        index += INDEX_BYTES_PER_ROW * table.schema.rows.max(table.len());
        let columns = table.schema.columns.iter();
        let used = columns.filter(|column| {
            let names = computed.as_ref();
            names.is_none_or(|names| names.contains(column.name.as_str()))
        });
        let (used, columns) = (
            used.count() as u64,
            table.schema.columns.len().max(1) as u64,
        );
        let cells = table.cell_bytes() / columns * used;
        // All passed columns of a row have the same origin.
        let numbers = table.len() * NUMBER_BYTES;
        bytes += cells.max(numbers * used) + 2 * numbers;
        largest_row = largest_row.max(table.cell_bytes() / table.len().max(1));
    }
    let work = match query.is_stream() {
        true => STREAM_BYTES + STREAM_ROWS * largest_row,
        // Operators copy their data when they merge, concatenate or emit it.
        false => (4 * bytes).max(MIN_WORK_BYTES),
    };
    index + work
}
