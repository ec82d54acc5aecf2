//! Runs the check in `tests/fuzzed/json_elements.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/json_elements.rs"]
mod json_elements;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, json_elements::check));
