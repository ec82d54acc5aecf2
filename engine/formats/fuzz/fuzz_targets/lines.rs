//! Runs the check in `tests/fuzzed/lines.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/lines.rs"]
mod lines;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, lines::check));
