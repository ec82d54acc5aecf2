//! See `tests/fuzzed/image_header.rs`.
#![no_main]

#[path = "../../tests/fuzzed/image_header.rs"]
mod image_header;

libfuzzer_sys::fuzz_target!(|data: &[u8]| image_header::check(data));
