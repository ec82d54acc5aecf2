//! Mathematical functions return the same bits on all processors and systems (`recorded/bits.txt`).
//!
//! Each line contains a function and a digest of its values for 1,000 arguments. If a digest differs on another computer or
//! after an update of the crate `libm`, pipelines return other results there. `UPDATE=1` records the digests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::Float64Type;
use prep_sql::QueryLimits;

use crate::support::{table, values};

const FUNCTIONS: [&str; 24] = [
    "acos(u)",
    "acosh(1.0 + abs(x))",
    "asin(u)",
    "asinh(x)",
    "atan(x)",
    "atan2(x, u)",
    "atanh(u)",
    "cbrt(x)",
    "cos(x)",
    "cosh(u)",
    "cot(x)",
    "degrees(x)",
    "exp(u * 700.0)",
    "ln(abs(x))",
    "log(3.0, abs(x))",
    "log10(abs(x))",
    "log2(abs(x))",
    "power(abs(x), u)",
    "radians(x)",
    "sin(x)",
    "sinh(u)",
    "sqrt(abs(x))",
    "tan(x)",
    "tanh(u)",
];

/// Returns 1,000 doubles from -1 to 1, and 1,000 doubles up to 1e15. Each operation here is exact, so the doubles are the
/// same on all processors.
fn arguments() -> (ArrayRef, ArrayRef) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let units: Vec<f64> = (0..1000)
        .map(|_| (next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
        .collect();
    let scaled = units.iter().map(|unit| {
        let magnitude = (next() % 70) as i32 - 20;
        unit * f64::from_bits(((1023 + magnitude) as u64) << 52)
    });
    let scaled: Vec<f64> = scaled.collect();
    (
        Arc::new(Float64Array::from(units)),
        Arc::new(Float64Array::from(scaled)),
    )
}

/// Returns the FNV-1a hash of the bits of doubles.
fn digest(values: impl Iterator<Item = f64>) -> u64 {
    let bytes = values.flat_map(|value| value.to_bits().to_le_bytes());
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[tokio::test]
async fn mathematical_functions_have_the_recorded_bits() {
    let (units, scaled) = arguments();
    let tables = BTreeMap::from([("t".to_owned(), table(vec![("u", units), ("x", scaled)]))]);
    let mut found = String::new();
    for call in FUNCTIONS {
        let text = format!("SELECT {call} AS v FROM t");
        let batches = values(&text, &tables, &QueryLimits::with_memory(64 << 20)).await;
        let batches = batches.expect(call);
        let doubles = batches.iter().flat_map(|batch| {
            batch
                .column(0)
                .as_primitive::<Float64Type>()
                .values()
                .iter()
                .copied()
        });
        let _ = writeln!(found, "{call} {:016x}", digest(doubles));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded/bits.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &found).expect("written");
    }
    assert_eq!(found, std::fs::read_to_string(path).expect("bits.txt"));
}
