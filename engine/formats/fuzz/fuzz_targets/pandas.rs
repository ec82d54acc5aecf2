//! Runs the check in `tests/fuzzed/pandas.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/pandas.rs"]
mod pandas;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, pandas::check));
