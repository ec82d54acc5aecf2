//! Runs the check in `tests/fuzzed/bson.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/bson.rs"]
mod bson;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, bson::check));
