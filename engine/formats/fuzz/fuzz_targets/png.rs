//! See `tests/fuzzed/png.rs`.
#![no_main]

#[path = "../../tests/fuzzed/png.rs"]
mod png;

libfuzzer_sys::fuzz_target!(|data: &[u8]| png::check(data));
