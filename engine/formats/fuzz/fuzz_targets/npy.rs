//! See `tests/fuzzed/npy.rs`.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/npy.rs"]
mod npy;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, npy::check));
