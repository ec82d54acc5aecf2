//! Any text can be loaded: with a result or with findings, and every finding lies in the text.
//!
//! `cargo +nightly fuzz run load` in `engine/spec`, with `tests/accept` and `tests/diagnostics` as a corpus.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for variant in ["v1", "fixed"] {
        if let Err(found) = prep_spec::load(prep_steps::vocabulary(), "id", "x.yaml", text, variant) {
            let _ = found.to_string();
            for one in &found {
                assert!(one.span.end <= text.len());
            }
        }
    }
    let _ = prep_spec::variants(text);
});
