//! Runs the check in `tests/fuzzed/parquet.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/parquet.rs"]
mod parquet;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, parquet::check));
