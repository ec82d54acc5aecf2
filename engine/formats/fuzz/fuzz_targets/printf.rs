//! Runs the check in `tests/fuzzed/printf.rs` on arbitrary bytes, and limits its memory and time.
#![no_main]

#[path = "../../../../tests/fuzzing/cost.rs"]
mod cost;
#[path = "../../tests/fuzzed/printf.rs"]
mod printf;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cost::bounded(data, printf::check));
