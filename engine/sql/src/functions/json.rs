//! JSON in cells: shared by the functions on records.

use arrow::array::{Array, ArrayRef, AsArray, ListArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion_common::{DataFusionError, Result};
use prep_formats::json;

/// Returns a column as texts.
pub(super) fn texts(column: &ArrayRef) -> Result<StringArray> {
    Ok(cast(column, &DataType::Utf8)?.as_string::<i32>().clone())
}

pub(super) fn parse(text: &str) -> Result<json::JsonValue> {
    json::parse(text.as_bytes()).map_err(failed)
}

pub(super) fn print(value: &json::JsonValue) -> Result<String> {
    let text = value.to_json(&json::WriteOptions::default());
    String::from_utf8(text.map_err(failed)?).map_err(failed)
}

pub(super) fn failed(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

pub(super) fn argument_error(message: impl Into<String>) -> DataFusionError {
    DataFusionError::Execution(message.into())
}

/// Parses a JSON object.
pub(super) fn object(function: &str, text: &str) -> Result<json::JsonObject> {
    match parse(text)? {
        json::JsonValue::Object(object) => Ok(object),
        _ => Err(argument_error(format!("{function} takes a JSON object"))),
    }
}

/// Converts cells to JSON values. Numbers, booleans and lists keep their type, and everything else becomes a text.
pub(super) enum JsonCells {
    Lists(ListArray),
    Integers(arrow::array::Int64Array),
    Numbers(arrow::array::Float64Array),
    Booleans(arrow::array::BooleanArray),
    Texts(StringArray),
}

impl JsonCells {
    pub fn new(column: &ArrayRef) -> Result<JsonCells> {
        Ok(match column.data_type() {
            DataType::List(_) => JsonCells::Lists(column.as_list::<i32>().clone()),
            DataType::Boolean => JsonCells::Booleans(column.as_boolean().clone()),
            kind if kind.is_integer() => {
                let column = cast(column, &DataType::Int64)?;
                JsonCells::Integers(column.as_primitive::<Int64Type>().clone())
            }
            kind if kind.is_numeric() => {
                let column = cast(column, &DataType::Float64)?;
                JsonCells::Numbers(column.as_primitive::<Float64Type>().clone())
            }
            _ => JsonCells::Texts(texts(column)?),
        })
    }

    pub fn value(&self, row: usize) -> Result<json::JsonValue> {
        Ok(match self {
            JsonCells::Lists(cells) if cells.is_valid(row) => {
                let items = cells.value(row);
                let cells = JsonCells::new(&items)?;
                let items = (0..items.len()).map(|item| cells.value(item));
                json::JsonValue::List(items.collect::<Result<_>>()?)
            }
            JsonCells::Integers(cells) if cells.is_valid(row) => {
                json::JsonValue::Int(cells.value(row))
            }
            JsonCells::Numbers(cells) if cells.is_valid(row) => {
                json::JsonValue::Float(cells.value(row))
            }
            JsonCells::Booleans(cells) if cells.is_valid(row) => {
                json::JsonValue::Bool(cells.value(row))
            }
            JsonCells::Texts(cells) if cells.is_valid(row) => cells.value(row).into(),
            _ => json::JsonValue::Null,
        })
    }
}
