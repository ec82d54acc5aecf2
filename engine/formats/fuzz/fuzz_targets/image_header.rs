//! Runs the check in `tests/fuzzed/image_header.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/image_header.rs"]
mod image_header;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, image_header::check));
