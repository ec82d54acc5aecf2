//! See `tests/fuzzed/archives.rs`.
#![no_main]

#[path = "../../tests/fuzzed/archives.rs"]
mod archives;

libfuzzer_sys::fuzz_target!(|data: &[u8]| archives::check(data));
