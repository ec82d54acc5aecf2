//! Transcendental functions of doubles.
//!
//! The system's math library returns different last digits on different systems and processors. Therefore this module uses
//! the crate `libm`, which uses only operations that IEEE 754 defines exactly.

use std::f64::consts::PI;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::{binary, unary};
use arrow::datatypes::{DataType, Float64Type};
use datafusion_common::Result;
use datafusion_common::types::{NativeType, logical_float64};
use datafusion_expr::{Coercion, Signature, TypeSignature, TypeSignatureClass, Volatility};

use super::scalar::SimpleFunction;

type Unary = (&'static str, fn(f64) -> f64);

const UNARY: [Unary; 22] = [
    ("acos", libm::acos),
    ("acosh", libm::acosh),
    ("asin", libm::asin),
    ("asinh", libm::asinh),
    ("atan", libm::atan),
    ("atanh", libm::atanh),
    ("cbrt", libm::cbrt),
    ("cos", libm::cos),
    ("cosh", libm::cosh),
    ("cot", |x| 1.0 / libm::tan(x)),
    ("degrees", |x| x * (180.0 / PI)),
    ("exp", libm::exp),
    ("ln", libm::log),
    ("log10", libm::log10),
    ("log2", libm::log2),
    ("radians", |x| x * (PI / 180.0)),
    ("sin", libm::sin),
    ("sinh", libm::sinh),
    ("sqrt", f64::sqrt),
    ("tan", libm::tan),
    ("tanh", libm::tanh),
    ("signum", sign),
];

pub(super) fn functions() -> impl Iterator<Item = SimpleFunction> {
    let unary = UNARY
        .into_iter()
        .map(|(name, compute)| function(name, &[1], move |columns| one(columns, compute)));
    unary.chain([
        function("atan2", &[2], |columns| two(columns, libm::atan2)),
        function("power", &[2], |columns| two(columns, libm::pow)),
        function("log", &[1, 2], |columns| match columns.len() {
            1 => one(columns, libm::log10),
            _ => two(columns, log),
        }),
    ])
}

fn function(
    name: &'static str,
    arguments: &[usize],
    call: impl Fn(&[ArrayRef]) -> Result<ArrayRef> + Send + Sync + 'static,
) -> SimpleFunction {
    let double = Coercion::new_implicit(
        TypeSignatureClass::Native(logical_float64()),
        vec![TypeSignatureClass::Numeric],
        NativeType::Float64,
    );
    let counts = arguments.iter();
    let signatures = counts.map(|count| TypeSignature::Coercible(vec![double.clone(); *count]));
    SimpleFunction::new(
        name,
        Signature::one_of(signatures.collect(), Volatility::Immutable),
        |_| Ok(DataType::Float64),
        call,
    )
}

/// Applies a function to the cells of the only argument.
fn one(columns: &[ArrayRef], compute: impl Fn(f64) -> f64) -> Result<ArrayRef> {
    let x = columns[0].as_primitive::<Float64Type>();
    Ok(Arc::new(unary::<_, _, Float64Type>(x, compute)))
}

/// Applies a function to the cells of both arguments.
fn two(columns: &[ArrayRef], compute: impl Fn(f64, f64) -> f64) -> Result<ArrayRef> {
    let x = columns[0].as_primitive::<Float64Type>();
    let y = columns[1].as_primitive::<Float64Type>();
    Ok(Arc::new(binary::<_, _, _, Float64Type>(x, y, compute)?))
}

/// Returns the logarithm of `x` to `base`. Logarithms of powers of 2 and 10 to these bases are exact.
fn log(base: f64, x: f64) -> f64 {
    match base {
        2.0 => libm::log2(x),
        10.0 => libm::log10(x),
        _ => libm::log(x) / libm::log(base),
    }
}

/// Returns the sign of `x` as a number. The sign of 0.0 and -0.0 is 0.0.
fn sign(x: f64) -> f64 {
    match x {
        0.0 => 0.0,
        x => x.signum(),
    }
}
