//! Runs the check in `tests/fuzzed/sevenz_header.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/sevenz_header.rs"]
mod sevenz_header;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, sevenz_header::check));
