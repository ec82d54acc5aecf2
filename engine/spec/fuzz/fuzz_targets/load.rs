//! See `tests/fuzzed/load.rs`.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/load.rs"]
mod load;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, load::check));
