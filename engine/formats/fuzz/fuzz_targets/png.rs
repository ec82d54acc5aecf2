//! Runs the check in `tests/fuzzed/png.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/png.rs"]
mod png;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, png::check));
