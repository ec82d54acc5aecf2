//! `split_words(text)`: the words of a text as a list, like Python's `str.split()`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListBuilder, StringBuilder};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{Signature, Volatility};
use prep_formats::python::is_python_space;

use super::json::texts;
use super::scalar::{SimpleFunction, arguments};

pub(super) fn function() -> SimpleFunction {
    let signature = Signature::string(1, Volatility::Immutable);
    let returns = |_: &[DataType]| Ok(DataType::new_list(DataType::Utf8, true));
    SimpleFunction::new("split_words", signature, returns, call)
}

fn call(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [column] = arguments(columns)?;
    let texts = texts(column)?;
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in 0..texts.len() {
        if texts.is_null(row) {
            lists.append_null();
            continue;
        }
        let words = texts.value(row).split(is_python_space);
        for word in words.filter(|word| !word.is_empty()) {
            lists.values().append_value(word);
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}
