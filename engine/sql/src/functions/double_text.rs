//! Converts doubles to text as cells of tables are printed, which is Python's `repr`: `1.0`, `1e-05`, `inf`, `nan`.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, AsArray, ListArray, PrimitiveArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float32Type, Float64Type};
use datafusion_common::Result;
use datafusion_expr::{ScalarUDF, Signature, Volatility};
use prep_formats::pandas::{push_f32, push_f64};

use super::scalar::SimpleFunction;

/// Returns the function that converts doubles to text, and lists of doubles to lists of texts. The planner inserts it
/// wherever a double becomes text.
pub(crate) fn double_text() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(SimpleFunction::new(
        "double_text",
        Signature::any(1, Volatility::Immutable),
        |types| Ok(text_type(&types[0])),
        |columns| printed(&columns[0]),
    )))
}

/// Returns the type of the text for values of a type.
pub(crate) fn text_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::List(field) => DataType::new_list(text_type(field.data_type()), true),
        _ => DataType::Utf8,
    }
}

fn printed(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Float64 => texts(array.as_primitive::<Float64Type>(), push_f64),
        DataType::Float32 => texts(array.as_primitive::<Float32Type>(), push_f32),
        DataType::List(_) => {
            let (_, offsets, values, nulls) = array.as_list::<i32>().clone().into_parts();
            let field = Arc::new(Field::new_list_field(text_type(values.data_type()), true));
            Arc::new(ListArray::new(field, offsets, printed(&values)?, nulls))
        }
        _ => cast(array, &DataType::Utf8)?,
    })
}

fn texts<T: ArrowPrimitiveType>(
    numbers: &PrimitiveArray<T>,
    push: fn(&mut Vec<u8>, T::Native),
) -> ArrayRef {
    let text = |number| {
        let mut text = Vec::new();
        push(&mut text, number);
        // A cell with NaN is empty.
        match text.is_empty() {
            true => "nan".to_owned(),
            false => String::from_utf8_lossy(&text).into_owned(),
        }
    };
    let texts = numbers.iter().map(|number| number.map(text));
    Arc::new(texts.collect::<StringArray>())
}
