//! `printf(format, value...)`: formats like C, with `%d`, `%f`, `%e`, `%g`, `%s`, flags, width and precision.

use arrow::array::ArrayRef;
use datafusion_common::Result;
use datafusion_expr::Signature;
use prep_formats::json::JsonValue;
use prep_formats::printf::{PrintfArgument, PrintfFormat};

use super::json::{JsonCells, argument_error, failed, texts};
use super::scalar::{LastParsed, SimpleFunction, map_texts};

pub(super) fn function() -> SimpleFunction {
    SimpleFunction::text("printf", Signature::variadic_any, call)
}

fn call(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let Some((formats, values)) = columns.split_first() else {
        return Err(argument_error("printf takes a format"));
    };
    let values = values
        .iter()
        .map(JsonCells::new)
        .collect::<Result<Vec<_>>>()?;
    let mut parsed = LastParsed::default();
    map_texts(&texts(formats)?, |row, spelled| {
        let cells = values.iter().map(|cells| cells.value(row));
        let cells = cells.collect::<Result<Vec<JsonValue>>>()?;
        if cells.contains(&JsonValue::Null) {
            return Ok(None);
        }
        let format = parsed.get(spelled, |spelled| {
            PrintfFormat::new(spelled).map_err(failed)
        })?;
        let arguments = cells.iter().filter_map(|cell| match cell {
            JsonValue::Int(value) => Some(PrintfArgument::Integer(*value)),
            JsonValue::Float(value) => Some(PrintfArgument::Number(*value)),
            JsonValue::Bool(value) => Some(PrintfArgument::Integer(i64::from(*value))),
            JsonValue::String(text) => text.as_str().map(PrintfArgument::Text),
            _ => None,
        });
        let arguments: Vec<PrintfArgument<'_>> = arguments.collect();
        let mut text = String::new();
        format.push(&arguments, &mut text).map_err(failed)?;
        Ok(Some(text))
    })
}
