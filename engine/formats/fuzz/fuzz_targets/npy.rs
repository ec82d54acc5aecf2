//! Runs the check in `tests/fuzzed/npy.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/npy.rs"]
mod npy;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, npy::check));
