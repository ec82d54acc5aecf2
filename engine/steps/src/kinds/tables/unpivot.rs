//! `unpivot`: turns columns of a table into rows, like pandas' `melt`.

use prep_core::{Context, Inputs, StepError, Value};
use prep_spec::model::Declaration;
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};
use prep_spec::{Diagnostic, RESERVED_ROW, is_row};
use prep_sql::{ColumnSource, ResultColumn, Unpivot};
use serde::Serialize;

use crate::emit::store_values;
use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;
use crate::located::{Subject, error_at_with_help};
use crate::relation::{BATCH_ROWS, open_table};
use crate::value::{TableValue, input};

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "an unpivoted table",
            doc: "Turns columns into rows, like pandas' `melt`. The result has all rows for the first of the columns, \
            then all rows for the second, and so on. Each row contains the other columns of the table, then the name \
            of the unpivoted column, then the value in this column.",
            keys: &[
                SectionKey::required("unpivot", KeyType::Table, "The table.", "labelled"),
                SectionKey::required(
                    "columns",
                    KeyType::Names,
                    "The columns that become rows.",
                    "[C1, C2]",
                ),
                SectionKey::required(
                    "name",
                    KeyType::Text,
                    "Name of the new column with the names of the unpivoted columns.",
                    "bone",
                ),
                SectionKey::required(
                    "value",
                    KeyType::Text,
                    "Name of the new column with the values of the unpivoted columns.",
                    "fractured",
                ),
            ],
        },
        methods: &[],
        makes: Produces::Unpivoted("unpivot"),
        check: Some(check_names),
    },
    step: |declaration, _| {
        let (name, value) = (declaration.text("name")?, declaration.text("value")?);
        let unpivot = UnpivotStep {
            columns: declaration.texts("columns").to_vec(),
            name: name.to_owned(),
            value: value.to_owned(),
        };
        let params = serde_json::json!(unpivot);
        let function = FunctionStep::new("unpivot", 1, params, move |context, inputs| {
            unpivot.run(context, inputs)
        });
        function.memory(table_memory).step()
    },
};

fn check_names(declaration: &Declaration) -> Vec<Diagnostic> {
    let reserved = ["name", "value"].into_iter();
    let reserved = reserved.filter(|key| declaration.text(key).is_some_and(is_row));
    let fault = |key| declaration.fault(key, "reserved-column", RESERVED_ROW);
    reserved.map(fault).collect()
}

/// Returns the memory in bytes for all values of the table. With less memory, the step reads the table repeatedly.
fn table_memory(inputs: &Inputs) -> u64 {
    // A short value takes about four times as many bytes in memory as its text.
    let table = input(inputs, "unpivot").and_then(TableValue::decode);
    (64 << 20) + table.map_or(0, |table| 4 * table.cell_bytes())
}

#[derive(Serialize)]
struct UnpivotStep {
    columns: Vec<String>,
    name: String,
    value: String,
}

impl UnpivotStep {
    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Value, StepError> {
        let table = open_table(context, input(inputs, "unpivot")?)?;
        let unpivot = Unpivot::new(table.columns(), &self.columns, [&self.name, &self.value]);
        let unpivot = unpivot.map_err(|error| {
            let help = error.help().map(str::to_owned);
            error_at_with_help(error.failure(), Subject::Key("columns"), error, help)
        })?;
        let columns = unpivot.columns().iter().map(|column| ResultColumn {
            name: column.name.clone(),
            source: ColumnSource::Values(column.data_type.clone()),
        });
        let columns: Vec<ResultColumn> = columns.collect();
        let max_bytes = usize::try_from(context.claimed_memory() / 2).unwrap_or(usize::MAX);
        let mut rows = unpivot.rows(table, max_bytes, BATCH_ROWS);
        let table = store_values(context, &columns, &mut || {
            context.check()?;
            rows.next().transpose().map_err(StepError::input)
        });
        Ok(table?.into_value())
    }
}
