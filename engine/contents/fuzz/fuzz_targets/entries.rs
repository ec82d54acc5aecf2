//! The fuzz target that reads archives. `tests/fuzzed/entries.rs` contains its code.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, entries::check));
