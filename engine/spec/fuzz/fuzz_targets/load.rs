//! The fuzz target that loads a pipeline. `tests/fuzzed/load.rs` contains its code.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/load.rs"]
mod load;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, load::check));
