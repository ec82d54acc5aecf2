//! One representation of NaN and of zero.
//!
//! IEEE 754 has many NaNs. The NaN that `0.0 / 0.0` returns is negative on x86 and positive on ARM, so in a sort it would
//! be the smallest value on x86 and the largest on ARM. IEEE 754 also has two zeros, which are equal but differ in their
//! bits. DataFusion's operators sometimes compare the values and sometimes the bits. Therefore:
//!
//! * Every NaN that an operator or function returns has the same bits (`with_one_nan`). It is the largest double.
//! * Doubles that are compared also have only one zero (`canonical_key`): operands of comparisons, and keys of joins,
//!   groups, partitions and sorts. All comparisons of bits are then comparisons of values.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ScalarUDF, Signature, Volatility};

use super::scalar::SimpleFunction;

/// The bits of the only NaN.
const NAN: f64 = f64::from_bits(0x7FF8_0000_0000_0000);

/// Returns a double with the canonical NaN.
#[inline]
pub(super) fn one_nan(value: f64) -> f64 {
    if value.is_nan() { NAN } else { value }
}

/// Returns a double as a key: with the canonical NaN and without -0.0.
#[inline]
pub(super) fn key(value: f64) -> f64 {
    // The sum of -0.0 and 0.0 is 0.0. All other values stay the same.
    one_nan(value + 0.0)
}

/// Converts each double in a column of doubles, or of lists of doubles, to its canonical form. Returns `None` if all
/// doubles have this form already, or if the column contains no doubles.
fn changed(array: &ArrayRef, canonical: impl Fn(f64) -> f64 + Copy) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::Float64 => {
            let doubles = array.as_primitive::<Float64Type>();
            // The loop has no early exit, so the compiler can vectorize it.
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

/// Returns the canonical form of all doubles of a value.
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

/// Converts the doubles of a column to keys.
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

/// Returns the function `canonical_key`, which gives equal doubles equal bits. Plans apply it to each value that is
/// compared: keys of joins, groups, partitions and sorts, and operands of comparisons, IN and CASE. Values of other
/// types stay the same.
pub(crate) fn canonical_key() -> Arc<ScalarUDF> {
    function("canonical_key", key)
}

/// Returns the function `ordered_bits`, which maps the result of `canonical_key` for a double to an integer. Different
/// doubles have different integers, and the order of the integers is the order of the doubles.
pub(crate) fn ordered_bits() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(SimpleFunction::new(
        "ordered_bits",
        Signature::any(1, Volatility::Immutable),
        |_| Ok(DataType::Int64),
        |columns| {
            let doubles = columns[0].as_primitive::<Float64Type>();
            let ordered = |value: f64| {
                let bits = key(value).to_bits().cast_signed();
                bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
            };
            Ok(Arc::new(doubles.unary::<_, Int64Type>(ordered)) as ArrayRef)
        },
    )))
}

/// Returns a column with the canonical NaN, for a column that no function of this module has computed.
pub(crate) fn with_one_nan(array: ArrayRef) -> ArrayRef {
    changed(&array, one_nan).unwrap_or(array)
}
