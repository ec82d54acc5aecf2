//! `multi_hot(value, text)`: 1 if the list in `value` contains `text`, otherwise 0. The parser replaces the macro
//! `multi_hot(column, list)` by calls of this function.
//!
//! The value is a list of texts, or a text. A text is a JSON list, or strings separated by commas. The type of the
//! column does not show which of them it is. Therefore a cell in brackets, braces or double quotes must be a JSON list.
//! Without this rule, a JSON list would be a single unknown string, and all columns would be 0.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{Signature, Volatility};
use prep_failure::Failure;
use prep_formats::json::JsonValue;
use prep_spec::shortened;

use super::json::{parse, text_of, texts};
use super::scalar::{SimpleFunction, arguments};
use crate::error::FunctionError;

/// Pairs of a first and a last character. A cell that has both is JSON, and not a list of strings separated by commas.
const DELIMITERS: [(char, char); 3] = [('[', ']'), ('{', '}'), ('"', '"')];

pub(super) fn function() -> SimpleFunction {
    let signature = Signature::any(2, Volatility::Immutable);
    SimpleFunction::new("multi_hot", signature, returns, call)
}

fn returns(types: &[DataType]) -> Result<DataType> {
    let is_text = |kind: &DataType| kind.is_string() || kind.is_null();
    let is_accepted = types.first().is_some_and(|kind| match kind {
        DataType::List(element) => is_text(element.data_type()),
        other => is_text(other),
    });
    if is_accepted {
        return Ok(DataType::Int64);
    }
    let message = "multi_hot() takes text (strings separated by commas, or a JSON list) or a list of texts; convert other \
                   values, for example CAST(x AS VARCHAR)";
    Err(FunctionError::error(Failure::Pipeline, message))
}

fn call(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [values, wanted] = arguments(columns)?;
    let wanted = texts(wanted)?;
    let mut found = Vec::with_capacity(values.len());
    if let Some(lists) = values.as_list_opt::<i32>() {
        for row in 0..lists.len() {
            let is_found = lists.is_valid(row) && {
                let items = cast(&lists.value(row), &DataType::Utf8)?;
                let items: &StringArray = items.as_string();
                items.iter().flatten().any(|item| item == wanted.value(row))
            };
            found.push(i64::from(is_found));
        }
    } else {
        for (row, cell) in texts(values)?.iter().enumerate() {
            let is_found = cell.map(|cell| contains(cell, wanted.value(row)));
            found.push(i64::from(is_found.transpose()?.unwrap_or(false)));
        }
    }
    Ok(Arc::new(Int64Array::from(found)))
}

fn contains(cell: &str, wanted: &str) -> Result<bool> {
    let trimmed = cell.trim();
    let is_delimited = |(start, end): (char, char)| {
        trimmed.len() > 1 && trimmed.starts_with(start) && trimmed.ends_with(end)
    };
    if DELIMITERS.into_iter().any(is_delimited) {
        let Ok(JsonValue::List(items)) = parse(trimmed) else {
            let message = format!(
                "multi_hot takes strings separated by commas, or a JSON list, and `{}` is neither",
                shortened(trimmed, 60)
            );
            return Err(FunctionError::error(Failure::Pipeline, message));
        };
        for item in &items {
            if text_of("multi_hot", item)?.as_deref() == Some(wanted) {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    if wanted.contains(',') {
        let message = format!(
            "multi_hot never finds `{wanted}` in `{}`, because it splits the cell at commas; replace the comma in the \
             column and in the list",
            shortened(cell, 60)
        );
        return Err(FunctionError::error(Failure::Pipeline, message));
    }
    Ok(cell.split(',').any(|part| part == wanted))
}
