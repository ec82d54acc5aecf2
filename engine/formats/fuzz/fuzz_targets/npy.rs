//! See `tests/fuzzed/npy.rs`.
#![no_main]

#[path = "../../tests/fuzzed/npy.rs"]
mod npy;

libfuzzer_sys::fuzz_target!(|data: &[u8]| npy::check(data));
