//! Runs the check in `tests/fuzzed/matlab.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/matlab.rs"]
mod matlab;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, matlab::check));
