//! See `tests/fuzzed/sevenz_header.rs`.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/sevenz_header.rs"]
mod sevenz_header;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, sevenz_header::check));
