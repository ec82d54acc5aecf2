//! See `tests/fuzzed/matlab.rs`.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/matlab.rs"]
mod matlab;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, matlab::check));
