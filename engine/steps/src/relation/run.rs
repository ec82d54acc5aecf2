//! Runs queries within a step: their limits, threads and errors.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use prep_cache::{Permit, check_threads};
use prep_core::{Context, Failure, Inputs, StepError, WithRemedy};
use prep_formats::pandas::ColumnType;
use prep_spec::model::Query;
use prep_sql::{QueryError, QueryLimits, QueryRows, Relation, ResultColumn, RowForm, Session};
use tokio::runtime::{Builder, Runtime};

use super::{OpenTable, open, relations};
use crate::located::{Subject, error_at_with_help};
use crate::value::{TREE_PREFIX, TableValue};

/// A query of a step, with the step's context and inputs.
#[derive(Clone, Copy)]
pub(crate) struct QueryRun<'a> {
    pub session: &'a Session,
    pub query: &'a Query,
    pub context: &'a Context,
    pub inputs: &'a Inputs,
}

/// A started query. [`next`](Self::next) returns its rows in batches.
pub(crate) struct RunningQuery<'a> {
    context: &'a Context,
    query: &'a Query,
    rows: QueryRows,
    runtime: Runtime,
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

    /// Opens all inputs that are tables.
    pub(crate) fn open_tables(&self) -> Result<BTreeMap<String, OpenTable>, StepError> {
        let tables = self.inputs.iter();
        let tables = tables.filter(|(name, _)| !name.starts_with(TREE_PREFIX));
        tables
            .map(|(name, value)| Ok((name.clone(), open(self.context, value)?)))
            .collect()
    }

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
        let rows = runtime.block_on(async { session.start(query, tables, form, &limits) });
        Ok(RunningQuery {
            context,
            query,
            rows: rows.map_err(|error| failed(&columns, query, error))?,
            runtime,
            _permit: permit,
        })
    }
}

impl RunningQuery<'_> {
    pub(crate) fn columns(&self) -> &[ResultColumn] {
        self.rows.columns()
    }

    /// Returns whether the query scans a single table, once. If so, all cells that the query copies into a row come from one
    /// stored row.
    pub(crate) fn has_single_origin(&self) -> bool {
        self.rows.has_single_origin()
    }

    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, StepError> {
        self.context.check()?;
        let next = self.runtime.block_on(self.rows.next());
        next.map_err(|error| failed(&Vec::new(), self.query, error))
    }
}

/// Up to this number of rows, a query runs on one thread, because a second thread would not be faster.
const MIN_ROWS_FOR_HELPER: u64 = 1 << 17;

/// Creates the runtime with which the step's thread runs a query. If the query sorts, joins or groups many rows, and a
/// thread is free, the runtime has one more thread for this work.
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

type ColumnsByTable = Vec<(String, Vec<String>)>;

/// Returns the names of the tables, each with the names of its visible columns.
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

/// Adds the location in the query to an error. If a column does not exist, the help lists the columns of `tables`.
fn failed(tables: &ColumnsByTable, query: &Query, error: QueryError) -> StepError {
    let failure = error.failure();
    if failure == Failure::Cancelled {
        return StepError::Cancelled;
    }
    let (place, help) = (error.place(), error.help_with(&query.text, tables, ""));
    let subject = Subject::Query(Box::new(query.clone()), place);
    let remedy = error.remedy();
    error_at_with_help(failure, subject, WithRemedy::attach(error, remedy), help)
}

/// Memory in bytes of a query that processes a table row by row.
const STREAM_BYTES: u64 = 64 << 20;
/// A query that sorts, joins or groups needs at least this memory, in bytes.
const MIN_WORK_BYTES: u64 = 256 << 20;
/// Bytes per row of an open table for row offsets and selected rows.
const INDEX_BYTES_PER_ROW: u64 = 9;
/// Size in bytes of a number, an origin or a position.
const NUMBER_BYTES: u64 = 8;
/// Assumed length in bytes of the text of a number.
const NUMBER_TEXT_BYTES: u64 = 12;
/// While a table is processed row by row, about this number of rows of average size is in memory.
const STREAM_ROWS: u64 = 16;

/// Estimates the memory of a query in bytes, without mapped files.
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
        let numbers = table.len() * NUMBER_BYTES;
        // Per row: its position, its origin, and its entry in a sort or hash table.
        bytes += 3 * numbers;
        let (texts, others): (Vec<_>, Vec<_>) = table
            .schema
            .columns
            .iter()
            .partition(|column| matches!(column.kind, ColumnType::Text | ColumnType::Json));
        // The bytes of cells that are not numbers are divided equally among the columns of strings.
        let text_bytes = table
            .cell_bytes()
            .saturating_sub(table.len() * NUMBER_TEXT_BYTES * others.len() as u64);
        let text_column_bytes = (text_bytes / texts.len().max(1) as u64).max(numbers);
        for (columns, column_bytes) in [(others, numbers), (texts, text_column_bytes)] {
            let used = columns.iter().filter(|column| {
                let names = computed.as_ref();
                names.is_none_or(|names| names.contains(column.name.as_str()))
            });
            bytes += column_bytes * used.count() as u64;
        }
        largest_row = largest_row.max(table.cell_bytes() / table.len().max(1));
    }
    let work = match query.is_stream() {
        true => STREAM_BYTES + STREAM_ROWS * largest_row,
        // Operators copy their data when they merge, concatenate or emit it.
        false => (4 * bytes).max(MIN_WORK_BYTES),
    };
    index + work
}

#[cfg(test)]
mod tests {
    use prep_cache::Digest;
    use prep_formats::pandas::Schema;

    use super::*;
    use crate::value::{TableStorage, column};

    /// Returns the estimated memory of a query in MB. Its table has `rows` rows of `bytes` bytes in total, an integer
    /// column and a text column.
    fn estimated_mb(sql: &str, rows: u64, bytes: u64) -> u64 {
        let columns = vec![
            column("id", ColumnType::Int64, false),
            column("text", ColumnType::Text, false),
        ];
        let object = Digest::of_bytes(b"");
        let table = TableValue::new(
            Schema { columns, rows },
            TableStorage::Text { object },
            bytes,
        );
        let inputs = Inputs::from([("t".to_owned(), table.into_value())]);
        query_memory(&Query::parse(sql).expect(sql), &inputs) / 1_000_000
    }

    #[test]
    fn estimated_memory_depends_on_bytes_and_rows() {
        const GB: u64 = 1_000_000_000;
        let by_text = "SELECT * FROM t ORDER BY text";
        let by_id = "SELECT * FROM t ORDER BY id";
        let all = "SELECT DISTINCT * FROM t";
        // A thousand rows of a megabyte each.
        assert!((GB / 1_000_000 * 2..8_000).contains(&estimated_mb(by_text, 1_000, GB)));
        assert!((GB / 1_000_000 * 2..8_000).contains(&estimated_mb(all, 1_000, GB)));
        assert!(estimated_mb(by_id, 1_000, GB) < 300);
        assert!(estimated_mb("SELECT lower(text) AS a FROM t", 100, GB) > 150);
        // Fifty million short rows.
        assert!((1_000..7_000).contains(&estimated_mb(by_id, 50_000_000, GB / 2)));
        assert!((2_000..8_000).contains(&estimated_mb(by_text, 50_000_000, GB / 2)));
        assert!(estimated_mb("SELECT lower(text) AS a FROM t", 50_000_000, GB / 2) < 600);
        // A small table.
        assert!(estimated_mb(all, 10, 100) < 300);
    }
}
