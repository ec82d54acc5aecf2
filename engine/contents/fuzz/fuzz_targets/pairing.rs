//! See `tests/fuzzed/pairing.rs`.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/pairing.rs"]
mod pairing;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, pairing::check));
