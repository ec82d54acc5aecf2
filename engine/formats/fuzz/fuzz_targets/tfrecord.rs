//! Runs the check in `tests/fuzzed/tfrecord.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/tfrecord.rs"]
mod tfrecord;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, tfrecord::check));
