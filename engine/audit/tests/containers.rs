//! Differences inside archives, arrays and documents. Each case has exactly the causes that the audit must report.

use std::fs;
use std::io::{Cursor, Write};

use prep_audit::tree::{self, Roles, TreeOptions};
use prep_audit::{AuditReport, Harm};
use prep_contents::{DecodingLimits, Resources};
use prep_formats::bson::push_json;
use prep_formats::json;
use prep_formats::sevenz::SevenZWriter;
use prep_formats::tar::TarWriter;
use prep_formats::zip::{ZipMethod, ZipWriter};

const NONE: Harm = Harm::None;
const FORM: Harm = Harm::Form;
const CONTENT: Harm = Harm::Content;

type Members<'a> = &'a [(&'a str, &'a [u8])];

fn zip(method: ZipMethod, members: Members<'_>) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        zip.add_file(name, method, &mut &content[..]).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn tar(members: Members<'_>) -> Vec<u8> {
    let mut tar = TarWriter::new(Vec::new());
    for (name, content) in members {
        tar.add_file(name, content.len() as u64, *content).unwrap();
    }
    tar.finish().unwrap()
}

fn seven(level: u32, members: Members<'_>) -> Vec<u8> {
    let mut archive = SevenZWriter::new(Cursor::new(Vec::new()), level);
    for (name, content) in members {
        archive.add_file(name, *content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn gzip(level: u32, content: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
    out.write_all(content).unwrap();
    out.finish().unwrap()
}

/// Writes an array in version 1.0 of the format. `blanks` is the number of additional spaces in its header.
fn npy(descr: &str, fortran: bool, shape: &str, blanks: usize, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    text.push_str(&" ".repeat(blanks + 63 - (text.len() + 10) % 64));
    text.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
    out.extend(text.as_bytes());
    out.extend(data);
    out
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn singles(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn bson(documents: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for text in documents {
        let value = json::parse(text.as_bytes()).unwrap();
        let mut external = |_: &_, _: &mut _| unreachable!("documents have no external values");
        push_json(&value, &mut out, &mut external).unwrap();
    }
    out
}

const CSV: &[u8] = b"id,x,kind\n1,0.5,a\n2,1.5,b\n3,2.5,a\n4,3.5,b\n";
const CSV_CRLF_CELL: &[u8] = b"id,x,kind\r\n1,0.5,a\r\n2,1.5,b\r\n3,2.75,a\r\n4,3.5,b\r\n";
const VALUES: [f64; 6] = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5];

struct Case {
    name: &'static str,
    path: &'static str,
    theirs: Vec<u8>,
    ours: Vec<u8>,
    causes: &'static [(&'static str, Harm)],
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name, path, theirs: Vec<u8>, ours: Vec<u8>, causes| {
        cases.push(Case {
            name,
            path,
            theirs,
            ours,
            causes,
        });
    };
    let two: Members<'_> = &[("a.csv", CSV), ("b.txt", b"one\n")];
    let reversed: Members<'_> = &[("b.txt", b"one\n"), ("a.csv", CSV)];
    let changed: Members<'_> = &[("a.csv", CSV_CRLF_CELL), ("b.txt", b"one\n")];
    let value_and_line_endings: &[_] = &[("values-changed", CONTENT), ("line-ends", FORM)];
    let repacked: &[_] = &[("archive-repacked", NONE)];
    add(
        "members of a tar in a different order",
        "x.tar",
        tar(reversed),
        tar(two),
        repacked,
    );
    add(
        "a changed member of a tar",
        "x.tar",
        tar(changed),
        tar(two),
        value_and_line_endings,
    );
    add(
        "a tar compressed at a different level",
        "x.tar.gz",
        gzip(9, &tar(two)),
        gzip(1, &tar(two)),
        repacked,
    );
    add(
        "a missing member and an additional one",
        "x.tgz",
        gzip(6, &tar(&[("a.csv", CSV), ("c.txt", b"three\n")])),
        gzip(6, &tar(two)),
        &[("files-missing", CONTENT), ("files-surplus", CONTENT)],
    );
    add(
        "a renamed member",
        "x.zip",
        zip(ZipMethod::Deflate, &[("a.csv", CSV), ("c.txt", b"one\n")]),
        zip(ZipMethod::Deflate, two),
        &[("files-renamed", CONTENT)],
    );
    add(
        "a zip without compression",
        "x.zip",
        zip(ZipMethod::Stored, two),
        zip(ZipMethod::Deflate, two),
        repacked,
    );
    add(
        "a changed member of a zip",
        "x.zip",
        zip(ZipMethod::Stored, changed),
        zip(ZipMethod::Deflate, two),
        value_and_line_endings,
    );
    add(
        "a 7z with members in a different order",
        "x.7z",
        seven(1, reversed),
        seven(1, two),
        repacked,
    );
    add(
        "a changed member of a 7z",
        "x.7z",
        seven(1, changed),
        seven(1, two),
        value_and_line_endings,
    );
    add(
        "a changed member of a zip in a tar",
        "x.tar.gz",
        gzip(6, &tar(&[("s.zip", &zip(ZipMethod::Deflate, changed))])),
        gzip(6, &tar(&[("s.zip", &zip(ZipMethod::Deflate, two))])),
        value_and_line_endings,
    );
    add(
        "a zip in a tar, compressed differently",
        "x.tar.gz",
        gzip(6, &tar(&[("s.zip", &zip(ZipMethod::Stored, two))])),
        gzip(6, &tar(&[("s.zip", &zip(ZipMethod::Deflate, two))])),
        repacked,
    );
    add(
        "gzip at a different level",
        "x.csv.gz",
        gzip(9, CSV),
        gzip(0, CSV),
        repacked,
    );
    add(
        "a changed table in gzip",
        "x.csv.gz",
        gzip(6, CSV_CRLF_CELL),
        gzip(6, CSV),
        value_and_line_endings,
    );
    let mut truncated = tar(two);
    truncated.truncate(700);
    truncated[0] ^= 1;
    add(
        "a truncated tar",
        "x.tar",
        truncated,
        tar(two),
        &[("files-damaged", CONTENT)],
    );
    let mut flipped = zip(ZipMethod::Stored, two);
    flipped[40] ^= 1;
    add(
        "a zip with wrong checksums",
        "x.zip",
        flipped,
        zip(ZipMethod::Stored, two),
        &[("files-damaged", CONTENT)],
    );
    add(
        "an HTML page instead of an archive",
        "x.7z",
        b"<html>no</html>".to_vec(),
        seven(1, two),
        &[("files-damaged", CONTENT)],
    );
    let array = npy("<f8", false, "(2, 3)", 0, &doubles(&VALUES));
    let one = |place: usize, value: f64| {
        let mut values = VALUES;
        values[place] = value;
        doubles(&values)
    };
    add(
        "a changed entry of an array",
        "x.npy",
        npy("<f8", false, "(2, 3)", 0, &one(4, 9.0)),
        array.clone(),
        &[("values-changed", CONTENT)],
    );
    add(
        "a changed last digit and a changed entry",
        "x.npy",
        npy("<f8", false, "(2, 3)", 0, &{
            let mut values = VALUES;
            values[0] = f64::from_bits(values[0].to_bits() + 1);
            values[5] = -1.0;
            doubles(&values)
        }),
        array.clone(),
        &[("values-changed", CONTENT), ("float-last-digit", FORM)],
    );
    add(
        "an array with a longer header",
        "x.npy",
        npy("<f8", false, "(2, 3)", 64, &doubles(&VALUES)),
        array.clone(),
        &[("array-layout", NONE)],
    );
    add(
        "an array in Fortran order",
        "x.npy",
        npy(
            "<f8",
            true,
            "(2, 3)",
            0,
            &doubles(&[0.5, 3.5, 1.5, 4.5, 2.5, 5.5]),
        ),
        array.clone(),
        &[("array-layout", NONE)],
    );
    add(
        "an array in single precision",
        "x.npy",
        npy(
            "<f4",
            false,
            "(2, 3)",
            0,
            &singles(&VALUES.map(|value| value as f32)),
        ),
        array.clone(),
        &[("column-types", FORM)],
    );
    add(
        "a big-endian array",
        "x.npy",
        npy(
            ">f8",
            false,
            "(2, 3)",
            0,
            &VALUES.map(f64::to_be_bytes).concat(),
        ),
        array.clone(),
        &[("column-types", FORM)],
    );
    add(
        "an array with a missing row",
        "x.npy",
        npy("<f8", false, "(1, 3)", 0, &doubles(&VALUES[..3])),
        array.clone(),
        &[("array-shape", CONTENT), ("rows-missing", CONTENT)],
    );
    add(
        "an array with an additional dimension",
        "x.npy",
        npy("<f8", false, "(6, 1)", 0, &doubles(&VALUES)),
        npy("<f8", false, "(6,)", 0, &doubles(&VALUES)),
        &[("array-shape", CONTENT)],
    );
    add(
        "an array of Python objects",
        "x.npy",
        npy("|O", false, "(6,)", 0, b"\x80\x04."),
        array.clone(),
        &[("files-damaged", CONTENT)],
    );
    add(
        "a changed array in an archive",
        "x.npz",
        zip(
            ZipMethod::Stored,
            &[("a.npy", &npy("<f8", false, "(2, 3)", 0, &one(1, 7.0)))],
        ),
        zip(ZipMethod::Deflate, &[("a.npy", &array)]),
        &[("values-changed", CONTENT)],
    );
    let documents = [
        r#"{"n": 1, "x": 0.5}"#,
        r#"{"n": 2, "x": 1.5}"#,
        r#"{"n": 3, "x": 2.5}"#,
    ];
    let [first, second, third] = documents;
    add(
        "a changed value in a BSON document",
        "x.bson",
        bson(&[first, r#"{"n": 2, "x": 1.75}"#, third]),
        bson(&documents),
        &[("values-changed", CONTENT)],
    );
    add(
        "BSON documents in a different order",
        "x.bson",
        bson(&[third, first, second]),
        bson(&documents),
        &[("row-order", NONE)],
    );
    add(
        "a missing BSON document",
        "x.bson",
        bson(&[first, third]),
        bson(&documents),
        &[("rows-missing", CONTENT)],
    );
    add(
        "a BSON document with keys in a different order",
        "x.bson",
        bson(&[first, r#"{"x": 1.5, "n": 2}"#, third]),
        bson(&documents),
        &[("key-order", FORM)],
    );
    add(
        "a truncated BSON document",
        "x.bson",
        {
            let mut all = bson(&documents);
            all[4] ^= 0x40;
            all
        },
        bson(&documents),
        &[("files-damaged", CONTENT)],
    );
    let lines = |values: [&str; 3]| -> Vec<u8> {
        let line =
            |(number, value): (usize, &str)| format!("{{\"n\": {number}, \"x\": {value}}}\n");
        (1..).zip(values).map(line).collect::<String>().into_bytes()
    };
    add(
        "JSON lines with the suffix .json: a changed value",
        "x.json",
        lines(["0.5", "1.75", "2.5"]),
        lines(["0.5", "1.5", "2.5"]),
        &[("values-changed", CONTENT)],
    );
    add(
        "JSON lines with the suffix .json: NaN instead of a number",
        "x.json",
        lines(["0.5", "NaN", "2.5"]),
        lines(["0.5", "1.5", "2.5"]),
        &[("values-changed", CONTENT)],
    );
    add(
        "a document with NaN and Infinity, without spaces",
        "x.json",
        b"{\"a\":NaN,\"b\":[Infinity,-Infinity]}".to_vec(),
        b"{\"a\": NaN, \"b\": [Infinity, -Infinity]}".to_vec(),
        &[("document-layout", FORM)],
    );
    add(
        "NaN instead of a number",
        "x.json",
        b"{\"a\": NaN, \"b\": 2}".to_vec(),
        b"{\"a\": 1.0, \"b\": 2}".to_vec(),
        &[("values-changed", CONTENT)],
    );
    let table = b"id,x\n1,a\n2,b\n3,c\n".to_vec();
    add(
        "a compressed table with the suffix .csv",
        "x.csv",
        gzip(6, &table),
        table.clone(),
        &[("files-damaged", CONTENT)],
    );
    add(
        "a compressed table with the suffix .csv and a changed value",
        "x.csv",
        gzip(6, b"id,x\n1,a\n2,d\n3,c\n"),
        table.clone(),
        &[("files-damaged", CONTENT), ("values-changed", CONTENT)],
    );
    add(
        "a Parquet file with the suffix .csv",
        "x.csv",
        b"PAR1\x15\x04\x15\x00\x15\x00PAR1".to_vec(),
        table,
        &[("files-damaged", CONTENT)],
    );
    add(
        "a number stored as text",
        "x.jsonl",
        b"{\"a\": \"1\", \"b\": 2}\n{\"a\": \"x\", \"b\": 3}\n".to_vec(),
        b"{\"a\": 1, \"b\": 2}\n{\"a\": \"x\", \"b\": 3}\n".to_vec(),
        &[("number-spelling", FORM)],
    );
    add(
        "an empty text instead of a missing value",
        "x.jsonl",
        b"{\"a\": \"\", \"b\": 2}\n{\"a\": \"x\", \"b\": 3}\n".to_vec(),
        b"{\"b\": 2}\n{\"a\": \"x\", \"b\": 3}\n".to_vec(),
        &[("values-changed", CONTENT)],
    );
    add(
        "line endings and a changed field without a column name",
        "x.csv",
        b"a,b\r\n1,2,3\r\n4,5,6\r\n".to_vec(),
        b"a,b\n1,2,3\n4,5,7\n".to_vec(),
        value_and_line_endings,
    );
    cases
}

#[test]
fn differences_inside_containers_are_reported_with_their_causes() {
    let home = tempfile::tempdir().unwrap();
    let (theirs, ours) = (home.path().join("theirs"), home.path().join("ours"));
    let temp = home.path().join("temp");
    let options = TreeOptions {
        threads: 2,
        roles: &Roles::default(),
        split: None,
        resources: Resources {
            limits: DecodingLimits::default(),
            temp: &temp,
        },
    };
    let mut wrong = Vec::new();
    for case in cases() {
        for (root, content) in [(&theirs, &case.theirs), (&ours, &case.ours)] {
            let _ = fs::remove_dir_all(root);
            fs::create_dir_all(root.join("public")).unwrap();
            fs::write(root.join("public").join(case.path), content).unwrap();
        }
        let report = AuditReport::new(tree::compare(&theirs, &ours, &options).unwrap().findings);
        let mut found: Vec<(&str, Harm)> = report
            .blocks
            .iter()
            .map(|block| (block.cause, block.harm))
            .collect();
        let mut expected = case.causes.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        if found != expected {
            let blocks = report.blocks;
            wrong.push(format!("{}: expected {expected:?}\n{blocks:#?}", case.name));
        }
        let left = fs::read_dir(&temp).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{}", case.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
