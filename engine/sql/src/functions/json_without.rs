//! `json_without(record, 'key', ...)`: the object `record` without the members with these keys.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{Signature, Volatility};
use prep_formats::json::JsonValue;

use super::json::{argument_error, object, print, texts};
use super::scalar::{SimpleFunction, map_texts};

pub(super) fn function() -> SimpleFunction {
    let signature = Signature::variadic_any(Volatility::Immutable);
    SimpleFunction::new("json_without", signature, returns, call)
}

fn returns(arguments: &[DataType]) -> Result<DataType> {
    if arguments.len() < 2 {
        return Err(argument_error("json_without takes a record and keys"));
    }
    Ok(DataType::Utf8)
}

fn call(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let Some((records, keys)) = columns.split_first() else {
        return Err(argument_error("json_without takes a record"));
    };
    let keys = keys.iter().map(texts).collect::<Result<Vec<_>>>()?;
    map_texts(&texts(records)?, |row, record| {
        let mut record = object("json_without", record)?;
        for key in keys.iter().filter(|key| key.is_valid(row)) {
            record.remove(key.value(row));
        }
        print(&JsonValue::Object(record)).map(Some)
    })
}
