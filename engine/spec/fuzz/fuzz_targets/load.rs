//! See `tests/fuzzed/load.rs`.
#![no_main]

#[path = "../../tests/fuzzed/load.rs"]
mod load;

libfuzzer_sys::fuzz_target!(|data: &[u8]| load::check(data));
