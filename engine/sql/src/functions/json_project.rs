//! `json_project(record, template)`: of the object `record`, the members that the object `template` has, in the order in
//! which `template` has them. A member that `record` lacks is an error.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringBuilder};
use arrow::datatypes::DataType;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use prep_formats::json;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct JsonProject {
    signature: Signature,
}

impl Default for JsonProject {
    fn default() -> JsonProject {
        JsonProject {
            signature: Signature::exact(
                vec![DataType::Utf8, DataType::Utf8],
                Volatility::Immutable,
            ),
        }
    }
}

impl ScalarUDFImpl for JsonProject {
    fn name(&self) -> &str {
        "json_project"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let (records, templates) = (arrays[0].as_string::<i32>(), arrays[1].as_string::<i32>());
        let mut out = StringBuilder::new();
        let mut last: Option<(String, json::Value)> = None;
        for (record, template) in records.iter().zip(templates.iter()) {
            let (Some(record), Some(template)) = (record, template) else {
                out.append_null();
                continue;
            };
            // The template is the same in almost every row.
            if last.as_ref().is_none_or(|(text, _)| text != template) {
                last = Some((template.to_owned(), parse(template)?));
            }
            if let Some((_, template)) = &last {
                out.append_value(project(&parse(record)?, template)?);
            }
        }
        Ok(ColumnarValue::Array(Arc::new(out.finish()) as ArrayRef))
    }
}

fn parse(text: &str) -> Result<json::Value> {
    json::parse(text.as_bytes()).map_err(|error| DataFusionError::Execution(error.to_string()))
}

fn project(record: &json::Value, template: &json::Value) -> Result<String> {
    let (Some(record), Some(template)) = (record.as_object(), template.as_object()) else {
        return Err(DataFusionError::Execution(
            "json_project takes two JSON objects".to_owned(),
        ));
    };
    let mut out = json::Object::new();
    for key in template.keys() {
        let found = record.iter().find(|(name, _)| *name == key);
        let Some((_, value)) = found else {
            let name = key.to_string_lossy();
            return Err(DataFusionError::Execution(format!(
                "json_project: the record has no member `{name}`"
            )));
        };
        out.insert(key.clone(), value.clone());
    }
    let text = json::Value::Object(out).to_json(&json::WriteOptions::default());
    let text = text.map_err(|error| DataFusionError::Execution(error.to_string()))?;
    String::from_utf8(text).map_err(|error| DataFusionError::Execution(error.to_string()))
}
