//! See `tests/fuzzed/printf.rs`.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/printf.rs"]
mod printf;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, printf::check));
