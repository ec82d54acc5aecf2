//! See `tests/fuzzed/json_elements.rs`.
#![no_main]

#[path = "../../tests/fuzzed/json_elements.rs"]
mod json_elements;

libfuzzer_sys::fuzz_target!(|data: &[u8]| json_elements::check(data));
