//! Stores the rows of a query as a table.

use prep_core::StepError;
use prep_formats::pandas::{Quoting, Schema};

use super::cells::ResultLayout;
use super::csv::store_rows;
use crate::relation::{QueryRun, RowForm};
use crate::value::{TableStorage, TableValue};

/// Stores the rows of a query as canonical text. As in any CSV file, an empty text becomes a missing cell.
pub(crate) fn store_table(run: QueryRun<'_>) -> Result<TableValue, StepError> {
    let tables = run.open_tables()?;
    let rows = run.start(&tables, RowForm::Cells)?;
    let mut layout = ResultLayout::new(rows.columns(), &tables)?;
    let (stored, rows) = store_rows(run.context, rows, &mut layout, b',', Quoting::Minimal)?;
    let object = stored.digest;
    let schema = Schema {
        columns: layout.columns,
        rows,
    };
    let mut table = TableValue::new(schema, TableStorage::Text { object });
    table.inferred = layout.inferred;
    table.numbers = layout.numbers;
    Ok(table)
}
