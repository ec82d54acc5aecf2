//! The fuzzer's targets, tried for a moment on changes of real files.

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

use fuzzing::{fuzz, seeds};

fn files(names: &[&str]) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/end_to_end/kinds");
    seeds(&root, names)
}

macro_rules! targets {
    ($($name:ident: $seeds:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let seeds: Vec<Vec<u8>> = $seeds;
                fuzz(stringify!($name), &seeds, fuzzed::$name::check);
            }
        )*
    };
}

targets! {
    archives: files(&["archives/bundle"]);
    bson: files(&["bson/bundle"]);
    image_header: files(&["headers/bundle/files", "formats/bundle/pages"]);
    json: files(&["documents/bundle", "read_each/bundle/lists", "read_each/bundle/books"]);
    json_elements: vec![
        br#"{"x": [1, {}], "a": [1, "b", {"c": [null]}]}"#.to_vec(),
        br#"{"a": {"x": 1, "y": {"z": -1.5e3}}, "b": "\u00e4"}"#.to_vec(),
    ];
    lines: files(&["formats/bundle/texts"]);
    npy: files(&["masks/bundle/m", "formats/bundle/a.npy", "formats/bundle/flat.npy"]);
    pandas: files(&["formats/bundle/printed.csv", "draws/bundle", "read_each/expected/public", "documents/expected/public"]);
    png: files(&["formats/bundle/pages"]);
    printf: vec![
        b"12345678abcdefgh%05d|%.10f|%s %-8.3e %+d %%".to_vec(),
        b"\0\0\0\0\0\0\xf0\x7f\0\0\0\0\0\0\0\x80%g %i %10s".to_vec(),
        b"\0\0\0\0\0\0\xf0\x3f\x01\0\0\0\0\0\0\x001 3 10 5".to_vec(),
    ];
    tfrecord: files(&["formats/bundle/shards"]);
    zip: files(&["archives/bundle/stored.zip", "archives/bundle/deflated.zip"]);
}
