//! `json_get(record, 'path')`: what stands at a path inside the value, through objects by key and through lists by number
//! (from 0), with dots between: a text as it is, anything else as JSON. Missing where there is nothing, or null.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringBuilder};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use prep_formats::json::Value;

use super::json::{columns, parse, print, refused, texts};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct JsonGet {
    signature: Signature,
}

impl Default for JsonGet {
    fn default() -> JsonGet {
        JsonGet {
            signature: Signature::any(2, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for JsonGet {
    fn name(&self) -> &str {
        "json_get"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = columns(&args)?;
        let [records, paths] = columns.as_slice() else {
            return Err(refused("json_get takes a record and a path"));
        };
        let (records, paths) = (texts(records)?, texts(paths)?);
        let mut out = StringBuilder::new();
        for row in 0..records.len() {
            if records.is_null(row) || paths.is_null(row) {
                out.append_null();
                continue;
            }
            let record = parse(records.value(row))?;
            match at(&record, paths.value(row)) {
                None | Some(Value::Null) => out.append_null(),
                Some(Value::String(text)) => match text.as_str() {
                    Some(text) => out.append_value(text),
                    None => return Err(refused("json_get: the text is no valid Unicode")),
                },
                Some(other) => out.append_value(print(other)?),
            }
        }
        Ok(ColumnarValue::Array(Arc::new(out.finish()) as ArrayRef))
    }
}

fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, step| match value {
        Value::Object(object) => object.get(step),
        Value::List(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}
