//! See `tests/fuzzed/lines.rs`.
#![no_main]

#[path = "../../tests/fuzzed/lines.rs"]
mod lines;

libfuzzer_sys::fuzz_target!(|data: &[u8]| lines::check(data));
