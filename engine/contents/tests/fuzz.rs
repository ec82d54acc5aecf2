//! Runs the fuzz targets for a short time on mutated real files.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod fuzzed;
#[path = "../../../tests/fuzzing/mod.rs"]
mod fuzzing;

use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use fuzzing::{fuzz, seeds};
use prep_formats::tar::TarWriter;
use prep_formats::zip::{ZipMethod, ZipWriter};

fn files(names: &[&str]) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/end_to_end/kinds");
    seeds(&root, names)
}

fn zip(members: &[(&str, &[u8])], method: ZipMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Vec::new());
    for (name, content) in members {
        writer.add_file(name, method, *content).unwrap();
    }
    writer.finish().unwrap()
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = TarWriter::new(Vec::new());
    for (name, content) in members {
        let length = content.len() as u64;
        writer.add_file(name, length, *content).unwrap();
    }
    writer.finish().unwrap()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn archives() -> Vec<Vec<u8>> {
    let text: &[(&str, &[u8])] = &[("a.csv", b"id,x\n1,2\n"), ("b/c.txt", b"text")];
    let stored = zip(text, ZipMethod::Stored);
    let deflated = zip(text, ZipMethod::Deflate);
    let plain = tar(text);
    let packed = gzip(&plain);
    let inner: Vec<(&str, &[u8])> = vec![
        ("s.zip", &stored),
        ("d.zip", &deflated),
        ("t.tar", &plain),
        ("t.tar.gz", &packed),
    ];
    let mut all = vec![
        zip(&inner, ZipMethod::Stored),
        zip(&inner, ZipMethod::Deflate),
        tar(&inner),
        gzip(&tar(&inner)),
        gzip(&zip(&inner, ZipMethod::Stored)),
        zip(
            &[("a.zip", &zip(&inner, ZipMethod::Stored))],
            ZipMethod::Stored,
        ),
    ];
    all.extend(files(&["archives/bundle"]));
    all
}

fn images() -> Vec<Vec<u8>> {
    let mut all = files(&["formats/bundle/pages", "headers/bundle/files"]);
    for color in [
        png::ColorType::Grayscale,
        png::ColorType::GrayscaleAlpha,
        png::ColorType::Rgba,
    ] {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 5, 3);
        encoder.set_color(color);
        let mut writer = encoder.write_header().unwrap();
        let data = vec![7; 15 * color.samples()];
        writer.write_image_data(&data).unwrap();
        writer.finish().unwrap();
        all.push(file);
    }
    all
}

fn table_files() -> Vec<Vec<u8>> {
    let mut all = files(&[
        "bson/bundle",
        "documents/bundle",
        "formats/bundle/printed.csv",
        "formats/bundle/a.npy",
        "formats/bundle/flat.npy",
        "pandas_json/bundle/list.json",
    ]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/data");
    all.extend(seeds(&root, &["parquet"]));
    all.push(b"{\"a\": 1, \"b\": [1, {\"c\": null}]}\n{\"a\": \"x\"}\n".to_vec());
    all.push(b"\xff\xfea\0,\0b\0\n\0\x31\0,\0\x32\0\n\0".to_vec());
    all
}

fn pairs() -> Vec<Vec<u8>> {
    let table = "id,label,x\n1,a,0.5\n2,b,1.5\n3,a,2.5\n4,b,2.5\n";
    let other = "id,x,label\n3,2.5,a\n1,0.50,a\n2,1.5,c\n4,2.5,b\n";
    vec![
        format!("{table}{table}").into_bytes(),
        format!("{table}{other}").into_bytes(),
        format!("{table}a,b,x\n1,a,1\n1,a,1\n2,b,2\n\n3,a,3\n4,b,4").into_bytes(),
    ]
}

const MUTATIONS: u64 = 500;

macro_rules! targets {
    ($($name:ident: $seeds:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let seeds: Vec<Vec<u8>> = $seeds;
                fuzz(stringify!($name), &seeds, MUTATIONS, fuzzed::$name::check);
            }
        )*
    };
}

targets! {
    entries: archives();
    pairing: pairs();
    pixels: images();
    tables: table_files();
}

#[test]
fn parsers_need_little_stack_for_deep_inputs() {
    fuzzing::deep::on_little_stack("entries", fuzzed::entries::check);
    fuzzing::deep::on_little_stack("tables", fuzzed::tables::check);
    fuzzing::deep::on_little_stack("pixels", fuzzed::pixels::check);
}
