//! The fuzz target that decodes images. `tests/fuzzed/pixels.rs` contains its code.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/pixels.rs"]
mod pixels;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, pixels::check));
