//! The fuzz target that reads tables. `tests/fuzzed/tables.rs` contains its code.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/tables.rs"]
mod tables;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, tables::check));
