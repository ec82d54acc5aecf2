//! `nullif(a, b)`: missing if `a` equals `b`, otherwise `a`. Both zeros are equal, and so is NaN to itself.

use arrow::array::{ArrayRef, BooleanArray};
use arrow::compute::kernels::cmp::eq;
use datafusion_common::Result;
use datafusion_expr::{Signature, Volatility};

use super::canonical::key_array;
use super::scalar::SimpleFunction;

pub(super) fn function() -> SimpleFunction {
    let signature = Signature::comparable(2, Volatility::Immutable);
    SimpleFunction::new("nullif", signature, |types| Ok(types[0].clone()), call)
}

fn call(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let equal: BooleanArray = eq(&key_array(&columns[0]), &key_array(&columns[1]))?;
    Ok(arrow::compute::nullif(&columns[0], &equal)?)
}
