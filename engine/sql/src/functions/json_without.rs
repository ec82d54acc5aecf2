//! `json_without(record, 'key', ...)`: the object without these members.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringBuilder};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use prep_formats::json::Value;

use super::json::{columns, object, print, refused, texts};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct JsonWithout {
    signature: Signature,
}

impl Default for JsonWithout {
    fn default() -> JsonWithout {
        JsonWithout {
            signature: Signature::variadic_any(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for JsonWithout {
    fn name(&self) -> &str {
        "json_without"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        if arguments.len() < 2 {
            return Err(refused("json_without takes a record and keys"));
        }
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = columns(&args)?;
        let Some((records, keys)) = columns.split_first() else {
            return Err(refused("json_without takes a record"));
        };
        let records = texts(records)?;
        let keys = keys.iter().map(texts).collect::<Result<Vec<_>>>()?;
        let mut out = StringBuilder::new();
        for row in 0..records.len() {
            if records.is_null(row) {
                out.append_null();
                continue;
            }
            let mut record = object("json_without", records.value(row))?;
            for key in keys.iter().filter(|key| key.is_valid(row)) {
                record.remove(key.value(row));
            }
            out.append_value(print(&Value::Object(record))?);
        }
        Ok(ColumnarValue::Array(Arc::new(out.finish()) as ArrayRef))
    }
}
