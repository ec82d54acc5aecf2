//! Runs the check in `tests/fuzzed/archives.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/archives.rs"]
mod archives;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, archives::check));
