//! See `tests/fuzzed/tfrecord.rs`.
#![no_main]

#[path = "../../tests/fuzzed/tfrecord.rs"]
mod tfrecord;

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfrecord::check(data));
