//! Iterates over the files that a table names.

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use prep_core::{Context, Inputs, StepError};

use super::open_table;
use crate::value::{FILES_INPUT, OpenContent, Opener, holder, input, trees};

/// Opens the file in column `file` of every row of the input `files`, in order, and calls `visit`.
pub(crate) fn for_each_file(
    context: &Context,
    inputs: &Inputs,
    visit: &mut dyn FnMut(&str, &OpenContent<'_>) -> Result<(), StepError>,
) -> Result<(), StepError> {
    let table = open_table(context, input(inputs, FILES_INPUT)?)?;
    let trees = trees(context, inputs)?;
    let mut columns = table.columns().iter();
    let column = columns.position(|column| column.name == "file");
    let column =
        column.ok_or_else(|| StepError::pipeline("the table of files has no column `file`"))?;
    let opener = Opener::new(context);
    for values in table.scan(vec![column], 8192) {
        let values = values.map_err(StepError::input)?;
        let files = cast(&values.columns[0], &DataType::Utf8).map_err(StepError::pipeline)?;
        for file in files.as_string::<i32>().iter() {
            context.check()?;
            let file =
                file.ok_or_else(|| StepError::pipeline("the column `file` has a missing cell"))?;
            let content = trees.iter().find_map(|tree| tree.get(file));
            let content = content.ok_or_else(|| {
                let (holder, path) = holder(file);
                StepError::input(format!("{holder} has no file `{path}`"))
            })?;
            visit(file, &opener.open(&content)?)?;
        }
    }
    Ok(())
}
