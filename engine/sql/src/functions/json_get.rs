//! `json_get(record, 'path')`: the value at a path inside a JSON value.
//!
//! A path consists of object keys and list indices (from 0), separated by dots. A text is returned as it is, and any
//! other value as JSON. The result is missing if the path does not exist or leads to null.

use arrow::array::{Array, ArrayRef};
use datafusion_common::Result;
use datafusion_expr::Signature;
use prep_formats::json::JsonValue;

use super::json::{argument_error, parse, print, texts};
use super::scalar::{SimpleFunction, map_texts};

pub(super) fn function() -> SimpleFunction {
    SimpleFunction::text("json_get", |fixed| Signature::any(2, fixed), call)
}

fn call(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [records, paths] = columns else {
        return Err(argument_error("json_get takes a record and a path"));
    };
    let paths = texts(paths)?;
    map_texts(&texts(records)?, |row, record| {
        if paths.is_null(row) {
            return Ok(None);
        }
        match value_at(&parse(record)?, paths.value(row)) {
            None | Some(JsonValue::Null) => Ok(None),
            Some(JsonValue::String(text)) => match text.as_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(argument_error("json_get: the text is not valid Unicode")),
            },
            Some(other) => print(other).map(Some),
        }
    })
}

fn value_at<'v>(value: &'v JsonValue, path: &str) -> Option<&'v JsonValue> {
    path.split('.').try_fold(value, |value, step| match value {
        JsonValue::Object(object) => object.get(step),
        JsonValue::List(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}
