//! The fuzz target that pairs the rows of two tables. `tests/fuzzed/pairing.rs` contains its code.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/pairing.rs"]
mod pairing;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, pairing::check));
