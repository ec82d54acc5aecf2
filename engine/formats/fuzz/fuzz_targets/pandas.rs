//! See `tests/fuzzed/pandas.rs`.
#![no_main]

#[path = "../../tests/fuzzed/pandas.rs"]
mod pandas;

libfuzzer_sys::fuzz_target!(|data: &[u8]| pandas::check(data));
