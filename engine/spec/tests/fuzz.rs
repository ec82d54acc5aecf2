//! Runs the fuzz target for a short time on modified real pipelines.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that panics has failed"
)]

mod fuzzed;
#[path = "../../../tests/fuzzing/mod.rs"]
mod fuzzing;

use std::path::Path;

#[test]
fn load() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let kinds = std::fs::read_dir(root.join("tests/end_to_end/kinds")).expect("kinds");
    let kinds = kinds.map(|entry| entry.expect("entry").path().join("pipeline.yaml"));
    let kinds: Vec<String> = kinds
        .filter(|path| path.is_file())
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    let names: Vec<&str> = kinds.iter().map(String::as_str).collect();
    let seeds = fuzzing::seeds(&root, &names);
    fuzzing::fuzz("load", &seeds, 5000, fuzzed::load::check);
}

#[test]
fn deep_pipelines_need_little_stack() {
    fuzzing::deep::on_little_stack("load", fuzzed::load::check);
}
