//! Runs the fuzz targets for a short time on mutations of real files.

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

/// Returns files of the end-to-end tests as seeds.
fn files(names: &[&str]) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/end_to_end/kinds");
    seeds(&root, names)
}

/// Returns a MATLAB 5 file with the structure `Video`, which has two fields, and the matrix `labels`.
fn matlab_files() -> Vec<Vec<u8>> {
    let element = |kind: u32, content: &[u8]| {
        let mut bytes = [kind.to_le_bytes(), (content.len() as u32).to_le_bytes()].concat();
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    };
    let matrix = |class: u8, name: &str, rest: &[u8]| {
        // The flags, the dimensions and the name. The first argument of `element` is the type: 6 is uint32, 5 is int32, 1
        // is int8.
        let parts = [
            element(6, &[class, 0, 0, 0, 0, 0, 0, 0]),
            element(5, &[1, 0, 0, 0, 1, 0, 0, 0]),
            element(1, name.as_bytes()),
            rest.to_vec(),
        ];
        element(14, &parts.concat())
    };
    let value = matrix(6, "", &element(9, b"12345678"));
    let fields = [
        element(5, &8_u32.to_le_bytes()),
        element(1, b"Frames\0\0Labels\0\0"),
        value.clone(),
        value.clone(),
    ];
    let mut file = vec![b' '; 124];
    file.extend(b"\x00\x01IM");
    file.extend(matrix(2, "Video", &fields.concat()));
    file.extend(matrix(6, "labels", &element(9, b"87654321")));
    vec![file]
}

fn parquet_files() -> Vec<Vec<u8>> {
    seeds(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"),
        &["parquet"],
    )
}

/// Returns the headers of 7z archives, which are at the end of the files.
fn sevenz_headers() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let archives = seeds(&root, &["archives"]);
    let archives = archives
        .into_iter()
        .filter(|bytes| bytes.starts_with(b"7z\xbc\xaf"));
    let headers = archives.filter_map(|bytes| {
        let number = |at: usize| {
            let bytes: [u8; 8] = bytes.get(at..at + 8)?.try_into().ok()?;
            usize::try_from(u64::from_le_bytes(bytes)).ok()
        };
        // The offset of the header is relative to the end of the signature header. The length of the header follows.
        let start = 32 + number(12)?;
        Some(bytes.get(start..start + number(20)?)?.to_vec())
    });
    headers.collect()
}

/// Number of mutated inputs for each target.
const MUTATIONS: u64 = 20_000;

macro_rules! targets {
    ($($name:ident: $seeds:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let seeds: Vec<Vec<u8>> = $seeds;
                fuzz(stringify!($name), &seeds, MUTATIONS, fuzzed::$name::check);
            }
        )*

        const CHECKS: &[(&str, fn(&[u8]))] = &[$((stringify!($name), fuzzed::$name::check)),*];
    };
}

/// Checks all targets, including those of formats that other crates parse. This crate does not control the recursion of
/// these parsers.
#[test]
fn parsers_need_little_stack_for_deep_inputs() {
    for (name, check) in CHECKS {
        fuzzing::deep::on_little_stack(name, *check);
    }
}

targets! {
    archives: files(&["archives/bundle"]);
    bson: files(&["bson/bundle"]);
    image_header: files(&["headers/bundle/files", "formats/bundle/pages"]);
    json: files(&["documents/bundle", "pandas_json/bundle/list.json"]);
    json_elements: vec![
        br#"{"x": [1, {}], "a": [1, "b", {"c": [null]}]}"#.to_vec(),
        br#"{"a": {"x": 1, "y": {"z": -1.5e3}}, "b": "\u00e4"}"#.to_vec(),
    ];
    lines: files(&["formats/bundle/texts"]);
    matlab: matlab_files();
    npy: files(&["masks/bundle/m", "formats/bundle/a.npy", "formats/bundle/flat.npy"]);
    pandas: files(&["formats/bundle/printed.csv", "draws/bundle", "read_each/expected/public", "documents/expected/public"]);
    png: files(&["formats/bundle/pages"]);
    parquet: parquet_files();
    printf: vec![
        b"12345678abcdefgh%05d|%.10f|%s %-8.3e %+d %%".to_vec(),
        b"\0\0\0\0\0\0\xf0\x7f\0\0\0\0\0\0\0\x80%g %i %10s".to_vec(),
        b"\0\0\0\0\0\0\xf0\x3f\x01\0\0\0\0\0\0\x001 3 10 5".to_vec(),
    ];
    sevenz_header: sevenz_headers();
    tfrecord: files(&["formats/bundle/shards"]);
    zip: files(&["archives/bundle/stored.zip", "archives/bundle/deflated.zip"]);
}
