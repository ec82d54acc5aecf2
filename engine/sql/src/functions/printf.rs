//! `printf(format, value...)`: C's formats `%d`, `%f`, `%e`, `%g`, `%s` with flags, width and precision. Missing where a
//! value is.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringBuilder};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use prep_formats::json::Value;
use prep_formats::printf::{Argument, Format};

use super::json::{Cells, columns, failed, refused, texts};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Printf {
    signature: Signature,
}

impl Default for Printf {
    fn default() -> Printf {
        Printf {
            signature: Signature::variadic_any(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Printf {
    fn name(&self) -> &str {
        "printf"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = columns(&args)?;
        let Some((formats, values)) = columns.split_first() else {
            return Err(refused("printf takes a format"));
        };
        let formats = texts(formats)?;
        let values = values.iter().map(Cells::new).collect::<Result<Vec<_>>>()?;
        let mut out = StringBuilder::new();
        let mut last: Option<(String, Format)> = None;
        let mut text = String::new();
        for row in 0..formats.len() {
            let cells = values.iter().map(|cells| cells.value(row));
            let cells = cells.collect::<Result<Vec<Value>>>()?;
            if formats.is_null(row) || cells.contains(&Value::Null) {
                out.append_null();
                continue;
            }
            // The format is the same in almost every row.
            let spelled = formats.value(row);
            if last.as_ref().is_none_or(|(text, _)| text != spelled) {
                last = Some((spelled.to_owned(), Format::new(spelled).map_err(failed)?));
            }
            let arguments = cells.iter().filter_map(|cell| match cell {
                Value::Int(value) => Some(Argument::Integer(*value)),
                Value::Float(value) => Some(Argument::Number(*value)),
                Value::Bool(value) => Some(Argument::Integer(i64::from(*value))),
                Value::String(text) => text.as_str().map(Argument::Text),
                _ => None,
            });
            let arguments: Vec<Argument<'_>> = arguments.collect();
            text.clear();
            if let Some((_, format)) = &last {
                format.push(&arguments, &mut text).map_err(failed)?;
            }
            out.append_value(&text);
        }
        Ok(ColumnarValue::Array(Arc::new(out.finish()) as ArrayRef))
    }
}
