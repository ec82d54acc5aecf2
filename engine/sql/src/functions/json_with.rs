//! `json_with(record, 'key', value, ...)`: the object with members set: a member that is there keeps its place, a new one
//! comes last. Numbers, booleans and lists are set as such, a missing value as null, everything else as a text.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringBuilder};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use prep_formats::json::Value;

use super::json::{Cells, columns, object, print, refused, texts};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct JsonWith {
    signature: Signature,
}

impl Default for JsonWith {
    fn default() -> JsonWith {
        JsonWith {
            signature: Signature::variadic_any(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for JsonWith {
    fn name(&self) -> &str {
        "json_with"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        if arguments.len() < 3 || arguments.len().is_multiple_of(2) {
            return Err(refused(
                "json_with takes a record, and a key and a value for each member",
            ));
        }
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = columns(&args)?;
        let Some((records, members)) = columns.split_first() else {
            return Err(refused("json_with takes a record"));
        };
        let records = texts(records)?;
        let mut set = Vec::new();
        for pair in members.chunks_exact(2) {
            if let [key, value] = pair {
                set.push((texts(key)?, Cells::new(value)?));
            }
        }
        let mut out = StringBuilder::new();
        for row in 0..records.len() {
            if records.is_null(row) {
                out.append_null();
                continue;
            }
            let mut record = object("json_with", records.value(row))?;
            for (keys, values) in &set {
                if keys.is_null(row) {
                    return Err(refused("json_with: a key is missing"));
                }
                record.insert(keys.value(row).into(), values.value(row)?);
            }
            out.append_value(print(&Value::Object(record))?);
        }
        Ok(ColumnarValue::Array(Arc::new(out.finish()) as ArrayRef))
    }
}
