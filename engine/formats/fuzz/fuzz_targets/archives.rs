//! See `tests/fuzzed/archives.rs`.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/archives.rs"]
mod archives;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, archives::check));
