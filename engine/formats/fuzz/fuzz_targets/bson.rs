//! See `tests/fuzzed/bson.rs`.
#![no_main]

#[path = "../../tests/fuzzed/bson.rs"]
mod bson;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bson::check(data));
