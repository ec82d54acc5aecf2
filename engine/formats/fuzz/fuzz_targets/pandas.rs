//! See `tests/fuzzed/pandas.rs`.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/pandas.rs"]
mod pandas;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, pandas::check));
