//! `split_words(text)`: the words of a text as a list, as Python's `str.split()` finds them: between blanks of any kind, none
//! of them empty. Missing where the text is.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListBuilder, StringBuilder};
use arrow::datatypes::{DataType, Field};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::json::{columns, refused, texts};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct SplitWords {
    signature: Signature,
}

impl Default for SplitWords {
    fn default() -> SplitWords {
        SplitWords {
            signature: Signature::string(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for SplitWords {
    fn name(&self) -> &str {
        "split_words"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::List(Arc::new(Field::new_list_field(
            DataType::Utf8,
            true,
        ))))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = columns(&args)?;
        let [column] = columns.as_slice() else {
            return Err(refused("split_words takes one text"));
        };
        let texts = texts(column)?;
        let mut lists = ListBuilder::new(StringBuilder::new());
        for row in 0..texts.len() {
            if texts.is_null(row) {
                lists.append_null();
                continue;
            }
            let words = texts.value(row).split(is_blank);
            for word in words.filter(|word| !word.is_empty()) {
                lists.values().append_value(word);
            }
            lists.append(true);
        }
        Ok(ColumnarValue::Array(Arc::new(lists.finish()) as ArrayRef))
    }
}

/// What Python takes for a blank: Unicode's white space, and the separators of files, groups, records and units.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}
