//! `round_half_even(x, digits)`: rounds like NumPy's `round`.
//!
//! Scales the number by a power of ten, rounds it to the nearest integer (ties to even), and scales it back.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion_common::Result;
use datafusion_expr::{Signature, Volatility};

use super::scalar::{SimpleFunction, arguments};

pub(super) fn function() -> SimpleFunction {
    let types = vec![DataType::Float64, DataType::Int64];
    let signature = Signature::exact(types, Volatility::Immutable);
    SimpleFunction::new(
        "round_half_even",
        signature,
        |_| Ok(DataType::Float64),
        call,
    )
}

fn call(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [numbers, digits] = arguments(columns)?;
    let numbers = numbers.as_primitive::<Float64Type>();
    let digits = digits.as_primitive::<Int64Type>();
    let rounded = numbers.iter().zip(digits.iter());
    let rounded = rounded.map(|(number, digits)| Some(round(number?, digits?)));
    Ok(Arc::new(rounded.collect::<Float64Array>()))
}

fn round(number: f64, digits: i64) -> f64 {
    // Powers of ten up to 22 are exact doubles.
    let power = |digits: u64| format!("1e{digits}").parse().unwrap_or(f64::INFINITY);
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
