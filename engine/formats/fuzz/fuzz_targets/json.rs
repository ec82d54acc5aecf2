//! See `tests/fuzzed/json.rs`.
#![no_main]

#[path = "../../tests/fuzzed/json.rs"]
mod json;

libfuzzer_sys::fuzz_target!(|data: &[u8]| json::check(data));
