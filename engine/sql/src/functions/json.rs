//! Functions for JSON values in cells.
//!
//! * `json_get(record, 'path')`: the value at a path of keys and list indices (from 0), separated by dots. Strings are
//!   returned without quotes. Null and a missing path return NULL.
//! * `json_list(list)`: the elements of a JSON list, each as `json_get` returns it. Null returns NULL.
//! * `json_project(record, template)`: the members of `record` that `template` also has, in the order of `template`. It is
//!   an error if `record` lacks a member of `template`.
//! * `json_with(record, 'key', value, ...)`: the object `record` with these members set. New members are added at the end.
//! * `json_without(record, 'key', ...)`: the object `record` without these members.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, ListBuilder, StringArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{Signature, Volatility};
use prep_formats::json::{self, JsonObject, JsonValue};

use super::scalar::{LastParsed, SimpleFunction, arguments, map_texts};

pub(super) fn functions() -> [SimpleFunction; 5] {
    let texts = |fixed| Signature::exact(vec![DataType::Utf8, DataType::Utf8], fixed);
    let any = Signature::variadic_any(Volatility::Immutable);
    [
        SimpleFunction::text("json_get", |fixed| Signature::any(2, fixed), get),
        SimpleFunction::new(
            "json_list",
            Signature::string(1, Volatility::Immutable),
            |_| Ok(DataType::new_list(DataType::Utf8, true)),
            list,
        ),
        SimpleFunction::text("json_project", texts, project),
        SimpleFunction::new("json_with", any.clone(), with_type, with),
        SimpleFunction::new("json_without", any, without_type, without),
    ]
}

fn get(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [records, paths] = arguments(columns)?;
    let paths = texts(paths)?;
    map_texts(&texts(records)?, |row, record| {
        if paths.is_null(row) {
            return Ok(None);
        }
        match value_at(&parse(record)?, paths.value(row)) {
            None => Ok(None),
            Some(value) => text_of("json_get", value),
        }
    })
}

/// Returns a string unchanged, another value as JSON, and `None` for null.
pub(super) fn text_of(function: &str, value: &JsonValue) -> Result<Option<String>> {
    match value {
        JsonValue::Null => Ok(None),
        JsonValue::String(text) => match text.as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(argument_error(format!(
                "{function}: the text is not valid Unicode"
            ))),
        },
        other => print(other).map(Some),
    }
}

fn list(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [column] = arguments(columns)?;
    let texts = texts(column)?;
    let mut lists = ListBuilder::new(StringBuilder::new());
    for text in &texts {
        match text.map(parse).transpose()? {
            None | Some(JsonValue::Null) => lists.append_null(),
            Some(JsonValue::List(items)) => {
                for item in &items {
                    lists.values().append_option(text_of("json_list", item)?);
                }
                lists.append(true);
            }
            Some(_) => return Err(argument_error("json_list takes a JSON list")),
        }
    }
    Ok(Arc::new(lists.finish()))
}

fn value_at<'v>(value: &'v JsonValue, path: &str) -> Option<&'v JsonValue> {
    path.split('.').try_fold(value, member)
}

/// Returns the member of an object with this key, or the element of a list with this index.
pub(crate) fn member<'v>(value: &'v JsonValue, step: &str) -> Option<&'v JsonValue> {
    match value {
        JsonValue::Object(object) => object.get(step),
        JsonValue::List(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    }
}

fn project(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [records, templates] = arguments(columns)?;
    let templates = texts(templates)?;
    let mut parsed = LastParsed::default();
    map_texts(&texts(records)?, |row, record| {
        if templates.is_null(row) {
            return Ok(None);
        }
        let template = parsed.get(templates.value(row), |text| object("json_project", text))?;
        let record = object("json_project", record)?;
        let mut out = JsonObject::new();
        for key in template.keys() {
            let found = record.iter().find(|(name, _)| *name == key);
            let (_, value) = found.ok_or_else(|| {
                let name = key.to_string_lossy();
                argument_error(format!("json_project: the record has no member `{name}`"))
            })?;
            out.insert(key.clone(), value.clone());
        }
        print(&JsonValue::Object(out)).map(Some)
    })
}

fn with_type(arguments: &[DataType]) -> Result<DataType> {
    if arguments.len() < 3 || arguments.len().is_multiple_of(2) {
        let message = "json_with takes a record, and a key and a value for each member";
        return Err(argument_error(message));
    }
    Ok(DataType::Utf8)
}

fn with(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [records, members @ ..] = columns else {
        return Err(argument_error("json_with takes a record"));
    };
    let mut set = Vec::new();
    for pair in members.chunks_exact(2) {
        let [key, value] = arguments(pair)?;
        set.push((texts(key)?, JsonCells::new(value)?));
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

fn without_type(arguments: &[DataType]) -> Result<DataType> {
    match arguments.len() {
        0 | 1 => Err(argument_error("json_without takes a record and keys")),
        _ => Ok(DataType::Utf8),
    }
}

fn without(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [records, keys @ ..] = columns else {
        return Err(argument_error("json_without takes a record and keys"));
    };
    let keys = keys.iter().map(texts).collect::<Result<Vec<_>>>()?;
    map_texts(&texts(records)?, |row, record| {
        let mut record = object("json_without", record)?;
        for key in keys.iter().filter(|key| key.is_valid(row)) {
            remove_path(&mut record, key.value(row));
        }
        print(&JsonValue::Object(record)).map(Some)
    })
}

/// Removes a member, whose path is either its name or the names of nested members, separated by dots.
fn remove_path(record: &mut JsonObject, path: &str) {
    if record.remove(path).is_none()
        && let Some((outer, inner)) = path.split_once('.')
        && let Some(JsonValue::Object(record)) = record.get_mut(outer)
    {
        remove_path(record, inner);
    }
}

/// Converts the cells of a column to strings.
pub(crate) fn texts(column: &ArrayRef) -> Result<StringArray> {
    Ok(cast(column, &DataType::Utf8)?.as_string::<i32>().clone())
}

pub(crate) fn parse(text: &str) -> Result<JsonValue> {
    json::parse(text.as_bytes()).map_err(failed)
}

fn print(value: &JsonValue) -> Result<String> {
    let text = value.to_json(&json::WriteOptions::default());
    String::from_utf8(text.map_err(failed)?).map_err(failed)
}

/// Converts an error to an error of DataFusion.
pub(super) fn failed(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

pub(super) fn argument_error(message: impl Into<String>) -> DataFusionError {
    DataFusionError::Execution(message.into())
}

/// Parses a JSON object, or fails with a message that names `function`.
fn object(function: &str, text: &str) -> Result<JsonObject> {
    match parse(text)? {
        JsonValue::Object(object) => Ok(object),
        _ => Err(argument_error(format!("{function} takes a JSON object"))),
    }
}

/// Cells that can be converted to JSON. Types without a variant become strings.
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

    pub fn value(&self, row: usize) -> Result<JsonValue> {
        Ok(match self {
            JsonCells::Lists(cells) if cells.is_valid(row) => {
                let items = cells.value(row);
                let cells = JsonCells::new(&items)?;
                let items = (0..items.len()).map(|item| cells.value(item));
                JsonValue::List(items.collect::<Result<_>>()?)
            }
            JsonCells::Integers(cells) if cells.is_valid(row) => JsonValue::Int(cells.value(row)),
            JsonCells::Numbers(cells) if cells.is_valid(row) => JsonValue::Float(cells.value(row)),
            JsonCells::Booleans(cells) if cells.is_valid(row) => JsonValue::Bool(cells.value(row)),
            JsonCells::Texts(cells) if cells.is_valid(row) => cells.value(row).into(),
            _ => JsonValue::Null,
        })
    }
}
