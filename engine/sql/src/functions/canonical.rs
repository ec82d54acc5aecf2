//! Normalizes NaN and zero, so that equal doubles have equal bits on all processors.
//!
//! IEEE 754 has many NaNs. For example, `0.0 / 0.0` is a negative NaN on x86 and a positive NaN on ARM. Some of
//! DataFusion's operators compare the values of doubles, and others compare their bits.
//!
//! * Every NaN that a function returns has the same bits (`with_one_nan`). In comparisons, this NaN is the largest double.
//! * Before doubles are compared, -0.0 is also replaced with 0.0 (`canonical_key`).

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ScalarUDF, Signature, Volatility};

use super::scalar::SimpleFunction;

const NAN: f64 = f64::from_bits(0x7FF8_0000_0000_0000);

/// Replaces any NaN by the canonical NaN.
#[inline]
pub(super) fn one_nan(value: f64) -> f64 {
    if value.is_nan() { NAN } else { value }
}

/// Replaces any NaN by the canonical NaN, and -0.0 by 0.0.
#[inline]
pub(super) fn key(value: f64) -> f64 {
    // -0.0 + 0.0 is 0.0, and adding 0.0 changes no other value.
    one_nan(value + 0.0)
}

/// Applies `canonical` to each double of a column, including doubles in lists. Returns `None` if no double changes.
fn changed(array: &ArrayRef, canonical: impl Fn(f64) -> f64 + Copy) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::Float64 => {
            let doubles = array.as_primitive::<Float64Type>();
            // The loop has no early exit, so that the compiler can vectorize it.
            let differs = doubles.values().iter().fold(false, |differs, value| {
                differs | (canonical(*value).to_bits() != value.to_bits())
            });
            differs.then(|| Arc::new(doubles.unary::<_, Float64Type>(canonical)) as ArrayRef)
        }
        DataType::List(field) => {
            let list = array.as_list::<i32>();
            let values = changed(list.values(), canonical)?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Some(Arc::new(ListArray::new(
                field.clone(),
                offsets,
                values,
                nulls,
            )))
        }
        _ => None,
    }
}

/// Applies `canonical` to each double of a value.
pub(super) fn canonical_value(
    value: ColumnarValue,
    canonical: impl Fn(f64) -> f64 + Copy,
) -> Result<ColumnarValue> {
    Ok(match value {
        ColumnarValue::Array(array) => {
            let changed = changed(&array, canonical);
            ColumnarValue::Array(changed.unwrap_or(array))
        }
        ColumnarValue::Scalar(scalar) => match changed(&scalar.to_array()?, canonical) {
            Some(array) => ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?),
            None => ColumnarValue::Scalar(scalar),
        },
    })
}

/// Applies [`key`] to each double of a column.
pub(super) fn key_array(array: &ArrayRef) -> ArrayRef {
    changed(array, key).unwrap_or_else(|| array.clone())
}

fn function(name: &'static str, canonical: fn(f64) -> f64) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(SimpleFunction::new(
        name,
        Signature::any(1, Volatility::Immutable),
        |types| Ok(types[0].clone()),
        move |columns| Ok(changed(&columns[0], canonical).unwrap_or_else(|| columns[0].clone())),
    )))
}

/// Returns the function `canonical_key`, which gives equal doubles equal bits.
///
/// Plans apply this function to the keys of joins, groups, sorts and windows, and to the operands of comparisons, IN and
/// CASE.
pub(crate) fn canonical_key() -> Arc<ScalarUDF> {
    function("canonical_key", key)
}

/// Returns the function `ordered_bits`, which maps canonical keys of doubles to integers that sort in the same order.
pub(crate) fn ordered_bits() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(SimpleFunction::new(
        "ordered_bits",
        Signature::any(1, Volatility::Immutable),
        |_| Ok(DataType::Int64),
        |columns| {
            let doubles = columns[0].as_primitive::<Float64Type>();
            let ordered = |value: f64| {
                let bits = key(value).to_bits().cast_signed();
                // Of two negative doubles, the smaller one has larger bits. Therefore all bits except the sign are inverted.
                bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
            };
            Ok(Arc::new(doubles.unary::<_, Int64Type>(ordered)) as ArrayRef)
        },
    )))
}

/// Replaces the NaNs of a column by the canonical NaN, for columns that no [`canonical_key`] computed.
pub(crate) fn with_one_nan(array: ArrayRef) -> ArrayRef {
    changed(&array, one_nan).unwrap_or(array)
}
