//! See `tests/fuzzed/zip.rs`.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/zip.rs"]
mod zip;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, zip::check));
