//! Runs the check in `tests/fuzzed/json.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/json.rs"]
mod json;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, json::check));
