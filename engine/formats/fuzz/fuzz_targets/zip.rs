//! Runs the check in `tests/fuzzed/zip.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/zip.rs"]
mod zip;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, zip::check));
