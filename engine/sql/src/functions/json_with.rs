//! `json_with(record, 'key', value, ...)`: the object `record` with these members set.
//!
//! An existing member keeps its position, and a new one is added at the end. Numbers, booleans and lists keep their
//! type, a missing value becomes null, and everything else becomes a text.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{Signature, Volatility};
use prep_formats::json::JsonValue;

use super::json::{JsonCells, argument_error, object, print, texts};
use super::scalar::{SimpleFunction, map_texts};

pub(super) fn function() -> SimpleFunction {
    let signature = Signature::variadic_any(Volatility::Immutable);
    SimpleFunction::new("json_with", signature, returns, call)
}

fn returns(arguments: &[DataType]) -> Result<DataType> {
    if arguments.len() < 3 || arguments.len().is_multiple_of(2) {
        return Err(argument_error(
            "json_with takes a record, and a key and a value for each member",
        ));
    }
    Ok(DataType::Utf8)
}

fn call(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let Some((records, members)) = columns.split_first() else {
        return Err(argument_error("json_with takes a record"));
    };
    let mut set = Vec::new();
    for pair in members.chunks_exact(2) {
        if let [key, value] = pair {
            set.push((texts(key)?, JsonCells::new(value)?));
        }
    }
    map_texts(&texts(records)?, |row, record| {
        let mut record = object("json_with", record)?;
        for (keys, values) in &set {
            if keys.is_null(row) {
                return Err(argument_error("json_with: a key is missing"));
            }
            record.insert(keys.value(row).into(), values.value(row)?);
        }
        print(&JsonValue::Object(record)).map(Some)
    })
}
