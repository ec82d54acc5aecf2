//! Writes entries of an array like `numpy.save`.

use prep_core::{FileValue, StepError, Value};
use prep_formats::npy::NpyError;
use prep_sql::ColumnSource;

use super::cells::origins;
use crate::relation::{CopiedCells, QueryRun, RowForm};

/// Writes the entries that a query copies, in its order.
pub(crate) fn write_npy(run: QueryRun<'_>) -> Result<Value, StepError> {
    let tables = run.open_tables()?;
    let mut rows = run.start(&tables, RowForm::Cells)?;
    let array = match rows.columns() {
        [column] => match &column.source {
            ColumnSource::Cells { table, .. } => tables.get(table).map(|table| &table.cells),
            ColumnSource::Values(_) => None,
        },
        _ => None,
    };
    let Some(CopiedCells::Array(array)) = array else {
        // The query check reports this error earlier, with its location.
        return Err(StepError::internal(
            "a NumPy output needs the entries of an array",
        ));
    };
    let array = array.clone();
    let mut entries: Vec<u64> = Vec::new();
    while let Some(batch) = rows.next()? {
        entries.extend(origins(&batch)?);
    }
    let count = entries.len() as u64;
    let mut out = run.context.store.writer()?;
    array
        .gather(entries.into_iter(), &mut out)
        .map_err(|error| match error {
            NpyError::Io(error) => StepError::machine(error),
            error => StepError::input(error),
        })?;
    let stored = out.commit()?;
    Ok(FileValue::table(stored, count, Vec::new()).into_value())
}
