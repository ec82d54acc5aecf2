//! See `tests/fuzzed/bson.rs`.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/bson.rs"]
mod bson;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, bson::check));
