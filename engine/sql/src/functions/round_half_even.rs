//! `round_half_even(x, digits)`: a number rounded to so many decimals as NumPy's `round` does it: scaled by a power of ten,
//! rounded to the nearest whole number, halves to the even one, and scaled back. Of negative digits, tens, hundreds and so
//! on. Missing where an argument is.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::json::{columns, refused};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct RoundHalfEven {
    signature: Signature,
}

impl Default for RoundHalfEven {
    fn default() -> RoundHalfEven {
        let types = vec![DataType::Float64, DataType::Int64];
        RoundHalfEven {
            signature: Signature::exact(types, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for RoundHalfEven {
    fn name(&self) -> &str {
        "round_half_even"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = columns(&args)?;
        let [numbers, digits] = columns.as_slice() else {
            return Err(refused(
                "round_half_even takes a number and how many decimals it keeps",
            ));
        };
        let numbers = numbers.as_primitive::<Float64Type>();
        let digits = digits.as_primitive::<Int64Type>();
        let rounded = numbers.iter().zip(digits.iter());
        let rounded = rounded.map(|(number, digits)| Some(round(number?, digits?)));
        let rounded: Float64Array = rounded.collect();
        Ok(ColumnarValue::Array(Arc::new(rounded) as ArrayRef))
    }
}

fn round(number: f64, digits: i64) -> f64 {
    let power = |digits: u64| 10f64.powi(i32::try_from(digits).unwrap_or(i32::MAX));
    match digits {
        0 => number.round_ties_even(),
        1.. => {
            let power = power(digits.unsigned_abs());
            (number * power).round_ties_even() / power
        }
        _ => {
            let power = power(digits.unsigned_abs());
            (number / power).round_ties_even() * power
        }
    }
}
