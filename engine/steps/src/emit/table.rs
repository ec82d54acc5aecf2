//! Stores the rows of a query as a table.

use std::collections::BTreeMap;

use arrow::array::RecordBatch;
use prep_cache::Stored;
use prep_core::{Context, StepError};
use prep_formats::pandas::Schema;
use prep_sql::ResultColumn;

use super::cells::ResultLayout;
use super::csv::{PLAIN, store_rows, write_batches};
use crate::relation::QueryRun;
use crate::value::{TableStorage, TableValue};

/// Stores rows that are not those of a query. `next` returns a batch with these columns, or `None` at the end.
pub(crate) fn store_values(
    context: &Context,
    columns: &[ResultColumn],
    next: &mut dyn FnMut() -> Result<Option<RecordBatch>, StepError>,
) -> Result<TableValue, StepError> {
    let mut layout = ResultLayout::new(columns, &BTreeMap::new())?;
    let stored = write_batches(context, &mut layout, PLAIN, next)?;
    Ok(table(layout, stored))
}

/// Stores the rows of a query as canonical text. As in any CSV file, an empty text becomes a missing cell.
pub(crate) fn store_table(run: QueryRun<'_>) -> Result<TableValue, StepError> {
    let (rows, mut layout) = ResultLayout::start(run)?;
    let stored = store_rows(run.context, rows, &mut layout, PLAIN)?;
    Ok(table(layout, stored))
}

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
