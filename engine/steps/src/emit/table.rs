//! Stores the rows of a query as a table.

use prep_core::StepError;
use prep_formats::pandas::{Quoting, Schema};

use super::cells::Layout;
use super::csv::store_rows;
use crate::relation::{QueryRun, Wanted};
use crate::value::{Storage, TableValue};

/// Stores the rows of a query as canonical text. As in any CSV file, an empty text becomes a missing cell.
pub(crate) fn store_table(run: QueryRun<'_>) -> Result<TableValue, StepError> {
    let tables = run.open_tables()?;
    let rows = run.start(&tables, Wanted::Cells)?;
    let mut layout = Layout::new(rows.columns(), &tables)?;
    let (stored, rows) = store_rows(run.context, rows, &mut layout, b',', Quoting::Minimal)?;
    let object = stored.digest;
    let schema = Schema {
        columns: layout.columns,
        rows,
    };
    let mut table = TableValue::new(schema, Storage::Text { object });
    table.inferred = layout.inferred;
    Ok(table.with_numbers(layout.numbers))
}
