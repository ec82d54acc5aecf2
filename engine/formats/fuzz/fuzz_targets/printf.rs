//! See `tests/fuzzed/printf.rs`.
#![no_main]

#[path = "../../tests/fuzzed/printf.rs"]
mod printf;

libfuzzer_sys::fuzz_target!(|data: &[u8]| printf::check(data));
