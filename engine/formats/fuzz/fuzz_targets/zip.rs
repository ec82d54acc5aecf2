//! See `tests/fuzzed/zip.rs`.
#![no_main]

#[path = "../../tests/fuzzed/zip.rs"]
mod zip;

libfuzzer_sys::fuzz_target!(|data: &[u8]| zip::check(data));
