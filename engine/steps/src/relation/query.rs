//! Runs queries and returns their values.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions, array_value_to_string};
use prep_core::{Context, StepError, Value};

use super::{QueryRun, RowForm, open_table};

type RowVisitor<'a> = dyn FnMut([Option<&str>; 2]) -> Result<(), StepError> + 'a;

/// Calls `visit` for each row of a query, with the cells of two columns as strings. The rows are in any order.
pub(crate) fn query_values(
    run: QueryRun<'_>,
    columns: [&str; 2],
    visit: &mut RowVisitor<'_>,
) -> Result<(), StepError> {
    let tables = run.open_tables()?;
    let mut rows = run.start(&tables, RowForm::Unordered)?;
    let mut indices = [0; 2];
    for (index, name) in indices.iter_mut().zip(columns) {
        let found = rows.columns().iter().position(|column| column.name == name);
        *index = found
            .ok_or_else(|| StepError::pipeline(format!("the query has no column `{name}`")))?;
    }
    while let Some(batch) = rows.next()? {
        let first = text(&batch, indices[0])?;
        let second = text(&batch, indices[1])?;
        let (first, second) = (first.as_string::<i32>(), second.as_string::<i32>());
        for row in 0..batch.num_rows() {
            let cell = |array: &arrow::array::StringArray| array.is_valid(row).then_some(row);
            visit([
                cell(first).map(|row| first.value(row)),
                cell(second).map(|row| second.value(row)),
            ])?;
        }
    }
    Ok(())
}

/// Returns a column as strings.
fn text(batch: &RecordBatch, column: usize) -> Result<ArrayRef, StepError> {
    cast(batch.column(column), &DataType::Utf8).map_err(StepError::pipeline)
}

pub(crate) struct FormattedRows {
    pub rows: usize,
    pub columns: Vec<String>,
    /// Some of the rows, with cells separated by commas.
    pub first_rows: Vec<String>,
}

/// Counts the rows of a query, and formats at most `limit` of them. The query returns its rows in any order.
pub(crate) fn query_rows_as_text(
    run: QueryRun<'_>,
    limit: usize,
) -> Result<FormattedRows, StepError> {
    let tables = run.open_tables()?;
    let mut rows = run.start(&tables, RowForm::Unordered)?;
    let columns = rows
        .columns()
        .iter()
        .map(|column| column.name.clone())
        .collect();
    let mut found = FormattedRows {
        rows: 0,
        columns,
        first_rows: Vec::new(),
    };
    while let Some(batch) = rows.next()? {
        let shown = limit
            .saturating_sub(found.first_rows.len())
            .min(batch.num_rows());
        if shown > 0 {
            let options = FormatOptions::default();
            let formatters = batch
                .columns()
                .iter()
                .map(|column| ArrayFormatter::try_new(column, &options));
            let formatters = formatters
                .collect::<Result<Vec<_>, _>>()
                .map_err(StepError::internal)?;
            for row in 0..shown {
                let cells: Vec<String> = formatters
                    .iter()
                    .map(|cell| cell.value(row).to_string())
                    .collect();
                found.first_rows.push(cells.join(", "));
            }
        }
        found.rows += batch.num_rows();
    }
    Ok(found)
}

/// Returns the value of a table with one row and one column, as an array.
pub(crate) fn single_value(context: &Context, value: &Value) -> Result<ArrayRef, StepError> {
    let table = open_table(context, value)?;
    if table.rows() != 1 || table.columns().len() != 1 {
        let (rows, columns) = (table.rows(), table.columns().len());
        return Err(StepError::pipeline(format!(
            "the query must return one value, but returns {rows} rows with {columns} columns"
        )));
    }
    let values = table
        .scan(vec![0], 1)
        .next()
        .ok_or_else(|| StepError::internal("a table of one row has no batch"))?;
    let values = values.map_err(StepError::internal)?;
    let found = values.columns.into_iter().next();
    found.ok_or_else(|| StepError::internal("a scan returned no column"))
}

/// Returns the value of a table with one row and one column, as a number.
pub(crate) fn single_number(context: &Context, value: &Value) -> Result<f64, StepError> {
    let found = &single_value(context, value)?;
    let number = cast(found, &DataType::Float64).map_err(StepError::pipeline)?;
    let number = number.as_primitive::<arrow::datatypes::Float64Type>();
    if number.is_null(0) {
        let text = array_value_to_string(found, 0).unwrap_or_default();
        return Err(StepError::pipeline(if found.is_null(0) {
            "the query must return one number, but its value is missing".to_owned()
        } else {
            format!("the query must return one number, but returns '{text}'")
        }));
    }
    Ok(number.value(0))
}
