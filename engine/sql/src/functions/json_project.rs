//! `json_project(record, template)`: the members of the object `record` whose keys also occur in the object `template`,
//! in the order of `template`. A key of `template` that `record` lacks is an error.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::Signature;
use prep_formats::json::{JsonObject, JsonValue};

use super::json::{argument_error, object, print, texts};
use super::scalar::{SimpleFunction, map_texts};

pub(super) fn function() -> SimpleFunction {
    let texts = |fixed| Signature::exact(vec![DataType::Utf8, DataType::Utf8], fixed);
    SimpleFunction::text("json_project", texts, call)
}

fn call(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [records, templates] = columns else {
        return Err(argument_error("json_project takes a record and a template"));
    };
    let templates = texts(templates)?;
    let mut last: Option<(String, JsonObject)> = None;
    map_texts(&texts(records)?, |row, record| {
        if templates.is_null(row) {
            return Ok(None);
        }
        // The template is the same in almost every row, so the last parsed one is reused.
        let template = templates.value(row);
        if last.as_ref().is_none_or(|(text, _)| text != template) {
            let parsed = object("json_project", template)?;
            last = Some((template.to_owned(), parsed));
        }
        match &last {
            Some((_, template)) => project(&object("json_project", record)?, template).map(Some),
            None => Ok(None),
        }
    })
}

fn project(record: &JsonObject, template: &JsonObject) -> Result<String> {
    let mut out = JsonObject::new();
    for key in template.keys() {
        let found = record.iter().find(|(name, _)| *name == key);
        let Some((_, value)) = found else {
            let name = key.to_string_lossy();
            let message = format!("json_project: the record has no member `{name}`");
            return Err(argument_error(message));
        };
        out.insert(key.clone(), value.clone());
    }
    print(&JsonValue::Object(out))
}
