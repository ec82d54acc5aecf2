//! Writes the rows of a query as CSV, as pandas' `to_csv(index=False)` does.

use std::collections::BTreeMap;
use std::io::Write;

use arrow::array::RecordBatch;
use prep_cache::Stored;
use prep_core::{Claim, Context, FileValue, StepError, Value};
use prep_formats::pandas::{CsvDialect, CsvWriter, GatherOptions, Schema, TextTable, gather};
use prep_sql::ResultColumn;

use super::cells::{ResultLayout, origins, push_cell};
use crate::relation::{QueryRun, RunningQuery};
use crate::value::{StoredText, TableStorage, TableValue, max_mapped_bytes};

pub(crate) fn write_csv(run: QueryRun<'_>, dialect: CsvDialect) -> Result<Value, StepError> {
    let (rows, mut layout) = ResultLayout::start(run)?;
    let (stored, count) = store_rows(run.context, rows, &mut layout, dialect)?;
    // If the output equals a table that is only in memory, write this table to the cache. Outputs must be in the cache.
    if let Some(text) = run.context.objects.get::<StoredText>(&stored.digest) {
        text.store(run.context)?;
    }
    let columns = layout.columns.into_iter().map(|column| column.name);
    Ok(FileValue::table(stored, count, columns.collect()).into_value())
}

/// Stores a header and the rows of a query. Returns the object and the number of rows.
///
/// If the query returns exactly the rows and columns of an input table, nothing is stored. Instead, the returned object
/// is that of the table, which may be only in memory.
pub(super) fn store_rows(
    context: &Context,
    mut rows: RunningQuery<'_>,
    layout: &mut ResultLayout,
    dialect: CsvDialect,
) -> Result<(Stored, u64), StepError> {
    let copies_rows = rows.has_single_origin() && dialect == CsvDialect::PLAIN;
    if let Some((table, indices)) = layout.single_table().filter(|_| copies_rows) {
        let mut failed = None;
        let mut origins = Origins {
            rows: &mut rows,
            batch: Vec::new().into_iter(),
            failed: &mut failed,
        };
        let schema = table.schema();
        let has_all_columns = indices.iter().copied().eq(0..schema.columns.len())
            && (layout.columns.iter().zip(&schema.columns))
                .all(|(column, stored)| column.name == stored.name);
        let common = match has_all_columns {
            true => CommonRows::up_to_gap(&mut origins, schema.rows),
            false => CommonRows::NONE,
        };
        if common.is_all && origins.failed.is_none() {
            return Ok((table.object(), schema.rows));
        }
        let (table, indices) = table.table_with(&indices)?;
        let mut out = context.store.writer()?;
        start(&mut out, layout, dialect)?
            .finish()
            .map_err(StepError::machine)?;
        let origins = (0..common.rows).chain(common.next).chain(origins);
        let scratch = context.temp_dir();
        let mut options = GatherOptions::new(&scratch);
        let claim = claim_for_text(context, table, &mut options);
        let count =
            gather(table, origins, &indices, &mut out, &options).map_err(StepError::machine)?;
        drop(claim);
        return match failed {
            Some(error) => Err(error),
            None => Ok((out.commit()?, count)),
        };
    }
    write_batches(context, layout, dialect, &mut || rows.next())
}

fn start<W: Write>(
    out: W,
    layout: &ResultLayout,
    dialect: CsvDialect,
) -> Result<CsvWriter<W>, StepError> {
    let mut writer = CsvWriter::with_dialect(out, dialect);
    let names = layout.columns.iter().map(|column| column.name.as_str());
    writer.header(names).map_err(StepError::machine)?;
    Ok(writer)
}

/// Stores a header and rows, cell by cell. `next` returns the next batch of rows.
pub(super) fn write_batches(
    context: &Context,
    layout: &mut ResultLayout,
    dialect: CsvDialect,
    next: &mut dyn FnMut() -> Result<Option<RecordBatch>, StepError>,
) -> Result<(Stored, u64), StepError> {
    let mut writer = start(context.store.writer()?, layout, dialect)?;
    let mut count = 0;
    while let Some(batch) = next()? {
        count += batch.num_rows() as u64;
        let mut shared_text: Option<Vec<u8>> = None;
        layout.for_each_row(&batch, |row| {
            let (varying, shared) = row.varying_and_shared();
            varying
                .iter()
                .for_each(|cell| push_cell(&mut writer, *cell));
            match &shared_text {
                Some(text) => writer.fields(text, shared.len()),
                None => {
                    let start = writer.row_len();
                    shared.iter().for_each(|cell| push_cell(&mut writer, *cell));
                    shared_text = Some(writer.row_from(start).to_vec());
                }
            }
            writer.end_row().map_err(StepError::machine)
        })?;
    }
    let out = writer.finish().map_err(StepError::machine)?;
    Ok((out.commit()?, count))
}

/// Claims memory for copying rows of a large text in random order. Without this memory, copying needs two passes. If
/// the text is already in memory, or fits into the budget of `options`, no claim is needed.
fn claim_for_text(
    context: &Context,
    table: &TextTable,
    options: &mut GatherOptions<'_>,
) -> Option<Claim> {
    let (text, bytes) = (table.text().len(), table.text().len() as u64);
    if table.is_in_memory() {
        options.budget = text;
    }
    if text <= options.budget || bytes > max_mapped_bytes(context) {
        return None;
    }
    let claim = context.try_claim(bytes)?;
    options.budget = text;
    Some(claim)
}

/// The first rows of a query that are also the first rows of the input table, in the same order. A query that returns
/// exactly the table's rows reuses the object of the table.
struct CommonRows {
    /// Number of these rows.
    rows: u64,
    /// The table row from which the query's next row is copied. `None` at the end.
    next: Option<u64>,
    /// Whether the query returns exactly the table's rows.
    is_all: bool,
}

impl CommonRows {
    const NONE: CommonRows = CommonRows {
        rows: 0,
        next: None,
        is_all: false,
    };

    fn up_to_gap(origins: &mut impl Iterator<Item = u64>, all: u64) -> CommonRows {
        let mut rows = 0;
        let next = loop {
            match origins.next() {
                Some(row) if row == rows && row < all => rows += 1,
                next => break next,
            }
        };
        CommonRows {
            rows,
            next,
            is_all: next.is_none() && rows == all,
        }
    }
}

/// Iterates over a query's rows. Each item is the index of the row of the input table from which the query's row is copied.
/// Ends early after an error, and stores the error in `failed`.
struct Origins<'a, 'r> {
    rows: &'a mut RunningQuery<'r>,
    batch: std::vec::IntoIter<u64>,
    failed: &'a mut Option<StepError>,
}

impl Iterator for Origins<'_, '_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            if let Some(origin) = self.batch.next() {
                return Some(origin);
            }
            let batch = self.rows.next().and_then(|batch| {
                let origins = batch.map(|batch| origins(&batch).map(<[u64]>::to_vec));
                origins.transpose()
            });
            match batch {
                Ok(Some(origins)) => self.batch = origins.into_iter(),
                Ok(None) => return None,
                Err(error) => {
                    *self.failed = Some(error);
                    return None;
                }
            }
        }
    }
}

/// Stores rows that do not come from a query as canonical text. `next` returns the next batch.
pub(crate) fn store_values(
    context: &Context,
    columns: &[ResultColumn],
    next: &mut dyn FnMut() -> Result<Option<RecordBatch>, StepError>,
) -> Result<TableValue, StepError> {
    let mut layout = ResultLayout::new(columns, &BTreeMap::new())?;
    let stored = write_batches(context, &mut layout, CsvDialect::PLAIN, next)?;
    Ok(table(layout, stored))
}

/// Stores the rows of a query as canonical text. Canonical text is CSV, so an empty string becomes a missing cell.
pub(crate) fn store_table(run: QueryRun<'_>) -> Result<TableValue, StepError> {
    let (rows, mut layout) = ResultLayout::start(run)?;
    let stored = store_rows(run.context, rows, &mut layout, CsvDialect::PLAIN)?;
    Ok(table(layout, stored))
}

/// Returns the table with the columns of `layout` whose canonical text is the object `stored`.
fn table(layout: ResultLayout, (stored, rows): (Stored, u64)) -> TableValue {
    let storage = TableStorage::Text {
        object: stored.digest,
    };
    let columns = layout.columns;
    let mut table = TableValue::new(Schema { columns, rows }, storage, stored.len);
    table.inferred = layout.inferred;
    table.numbers = layout.numbers;
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_is_the_input_table_only_if_it_has_all_rows_in_order() {
        for (origins, all, rows, next, is_all) in [
            (vec![0, 1, 2], 3, 3, None, true),
            (vec![], 0, 0, None, true),
            (vec![0, 1], 3, 2, None, false),
            (vec![0, 2, 1], 3, 1, Some(2), false),
            (vec![0, 1, 2, 2], 3, 3, Some(2), false),
            (vec![0, 1, 2, 3], 3, 3, Some(3), false),
            (vec![1], 3, 0, Some(1), false),
        ] {
            let found = CommonRows::up_to_gap(&mut origins.iter().copied(), all);
            let found = (found.rows, found.next, found.is_all);
            assert_eq!(found, (rows, next, is_all), "{origins:?} of {all}");
        }
    }
}
