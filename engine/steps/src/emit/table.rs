//! The rows of a query as a stored table.

use prep_core::{Context, Inputs, StepError};
use prep_formats::pandas::{Quoting, Schema};
use prep_spec::model::Query;
use prep_sql::Session;

use super::cells::Layout;
use super::csv::store_rows;
use crate::relation::{Running, Wanted, open_tables};
use crate::value::{Storage, TableValue};

/// Stores the rows of a query as canonical text. An empty text becomes a missing cell, as in any file.
pub(crate) fn store_table(
    session: &Session,
    query: &Query,
    context: &Context,
    inputs: &Inputs,
) -> Result<TableValue, StepError> {
    let tables = open_tables(context, inputs)?;
    let rows = Running::start(session, query, context, inputs, &tables, Wanted::Cells)?;
    let mut layout = Layout::new(rows.columns(), &tables)?;
    let (stored, rows) = store_rows(context, rows, &mut layout, b',', Quoting::Minimal)?;
    let object = stored.digest;
    let schema = Schema {
        columns: layout.columns,
        rows,
    };
    let mut table = TableValue::new(schema, Storage::Text { object });
    table.inferred = layout.inferred;
    Ok(table.with_numbers(layout.numbers))
}
