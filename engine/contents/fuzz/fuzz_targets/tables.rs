//! See `tests/fuzzed/tables.rs`.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/tables.rs"]
mod tables;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, tables::check));
