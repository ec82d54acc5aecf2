//! Mismatches inside of archives, arrays and documents: each pair of files, with all the causes that must be named and no
//! others.

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

/// An array of version 1.0, its header padded with this number of additional spaces.
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
        let mut beside = |_: &_, _: &mut _| unreachable!("nothing stays in a file");
        push_json(&value, &mut out, &mut beside).unwrap();
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
    let turned: Members<'_> = &[("b.txt", b"one\n"), ("a.csv", CSV)];
    let changed: Members<'_> = &[("a.csv", CSV_CRLF_CELL), ("b.txt", b"one\n")];
    let harmless_and_not: &[_] = &[("values-changed", CONTENT), ("line-ends", FORM)];
    let repacked: &[_] = &[("archive-repacked", NONE)];
    add("tar order", "x.tar", tar(turned), tar(two), repacked);
    add(
        "tar member",
        "x.tar",
        tar(changed),
        tar(two),
        harmless_and_not,
    );
    add(
        "tar level",
        "x.tar.gz",
        gzip(9, &tar(two)),
        gzip(1, &tar(two)),
        repacked,
    );
    add(
        "a member less, one more",
        "x.tgz",
        gzip(6, &tar(&[("a.csv", CSV), ("c.txt", b"three\n")])),
        gzip(6, &tar(two)),
        &[("files-missing", CONTENT), ("files-surplus", CONTENT)],
    );
    add(
        "a member renamed",
        "x.zip",
        zip(ZipMethod::Deflate, &[("a.csv", CSV), ("c.txt", b"one\n")]),
        zip(ZipMethod::Deflate, two),
        &[("files-renamed", CONTENT)],
    );
    add(
        "zip stored",
        "x.zip",
        zip(ZipMethod::Stored, two),
        zip(ZipMethod::Deflate, two),
        repacked,
    );
    add(
        "zip member",
        "x.zip",
        zip(ZipMethod::Stored, changed),
        zip(ZipMethod::Deflate, two),
        harmless_and_not,
    );
    add(
        "7z level",
        "x.7z",
        seven(1, turned),
        seven(1, two),
        repacked,
    );
    add(
        "7z member",
        "x.7z",
        seven(1, changed),
        seven(1, two),
        harmless_and_not,
    );
    add(
        "a zip in a tar",
        "x.tar.gz",
        gzip(6, &tar(&[("s.zip", &zip(ZipMethod::Deflate, changed))])),
        gzip(6, &tar(&[("s.zip", &zip(ZipMethod::Deflate, two))])),
        harmless_and_not,
    );
    add(
        "a zip in a tar, packed again",
        "x.tar.gz",
        gzip(6, &tar(&[("s.zip", &zip(ZipMethod::Stored, two))])),
        gzip(6, &tar(&[("s.zip", &zip(ZipMethod::Deflate, two))])),
        repacked,
    );
    add("gzip", "x.csv.gz", gzip(9, CSV), gzip(0, CSV), repacked);
    add(
        "a table in gzip",
        "x.csv.gz",
        gzip(6, CSV_CRLF_CELL),
        gzip(6, CSV),
        harmless_and_not,
    );
    let mut torn = tar(two);
    torn.truncate(700);
    torn[0] ^= 1;
    add(
        "a truncated tar",
        "x.tar",
        torn,
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
        "a page for an archive",
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
        "an entry",
        "x.npy",
        npy("<f8", false, "(2, 3)", 0, &one(4, 9.0)),
        array.clone(),
        &[("values-changed", CONTENT)],
    );
    add(
        "a last digit and an entry",
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
        "another header",
        "x.npy",
        npy("<f8", false, "(2, 3)", 64, &doubles(&VALUES)),
        array.clone(),
        &[("array-layout", NONE)],
    );
    add(
        "columns first",
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
        "single precision",
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
        "high byte first",
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
        "one row less",
        "x.npy",
        npy("<f8", false, "(1, 3)", 0, &doubles(&VALUES[..3])),
        array.clone(),
        &[("array-shape", CONTENT), ("rows-missing", CONTENT)],
    );
    add(
        "one column for three",
        "x.npy",
        npy("<f8", false, "(6, 1)", 0, &doubles(&VALUES)),
        npy("<f8", false, "(6,)", 0, &doubles(&VALUES)),
        &[("array-shape", CONTENT)],
    );
    add(
        "objects",
        "x.npy",
        npy("|O", false, "(6,)", 0, b"\x80\x04."),
        array.clone(),
        &[("files-damaged", CONTENT)],
    );
    add(
        "arrays in an archive",
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
        "a document's value",
        "x.bson",
        bson(&[first, r#"{"n": 2, "x": 1.75}"#, third]),
        bson(&documents),
        &[("values-changed", CONTENT)],
    );
    add(
        "documents in another order",
        "x.bson",
        bson(&[third, first, second]),
        bson(&documents),
        &[("row-order", NONE)],
    );
    add(
        "a document less",
        "x.bson",
        bson(&[first, third]),
        bson(&documents),
        &[("rows-missing", CONTENT)],
    );
    add(
        "a document's keys",
        "x.bson",
        bson(&[first, r#"{"x": 1.5, "n": 2}"#, third]),
        bson(&documents),
        &[("key-order", FORM)],
    );
    add(
        "half a document",
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
        "lines under a document's name: a value",
        "x.json",
        lines(["0.5", "1.75", "2.5"]),
        lines(["0.5", "1.5", "2.5"]),
        &[("values-changed", CONTENT)],
    );
    add(
        "lines under a document's name: not a number",
        "x.json",
        lines(["0.5", "NaN", "2.5"]),
        lines(["0.5", "1.5", "2.5"]),
        &[("values-changed", CONTENT)],
    );
    add(
        "no spaces in a document with words that are not JSON",
        "x.json",
        b"{\"a\":NaN,\"b\":[Infinity,-Infinity]}".to_vec(),
        b"{\"a\": NaN, \"b\": [Infinity, -Infinity]}".to_vec(),
        &[("document-layout", FORM)],
    );
    add(
        "not a number and a number",
        "x.json",
        b"{\"a\": NaN, \"b\": 2}".to_vec(),
        b"{\"a\": 1.0, \"b\": 2}".to_vec(),
        &[("values-changed", CONTENT)],
    );
    let table = b"id,x\n1,a\n2,b\n3,c\n".to_vec();
    add(
        "compressed under a table's name",
        "x.csv",
        gzip(6, &table),
        table.clone(),
        &[("files-damaged", CONTENT)],
    );
    add(
        "compressed under a table's name, with another value",
        "x.csv",
        gzip(6, b"id,x\n1,a\n2,d\n3,c\n"),
        table.clone(),
        &[("files-damaged", CONTENT), ("values-changed", CONTENT)],
    );
    add(
        "another format under a table's name",
        "x.csv",
        b"PAR1\x15\x04\x15\x00\x15\x00PAR1".to_vec(),
        table,
        &[("files-damaged", CONTENT)],
    );
    add(
        "a number as text",
        "x.jsonl",
        b"{\"a\": \"1\", \"b\": 2}\n{\"a\": \"x\", \"b\": 3}\n".to_vec(),
        b"{\"a\": 1, \"b\": 2}\n{\"a\": \"x\", \"b\": 3}\n".to_vec(),
        &[("number-spelling", FORM)],
    );
    add(
        "nothing, and no text",
        "x.jsonl",
        b"{\"a\": \"\", \"b\": 2}\n{\"a\": \"x\", \"b\": 3}\n".to_vec(),
        b"{\"b\": 2}\n{\"a\": \"x\", \"b\": 3}\n".to_vec(),
        &[("values-changed", CONTENT)],
    );
    add(
        "line ends hide a field beyond the header",
        "x.csv",
        b"a,b\r\n1,2,3\r\n4,5,6\r\n".to_vec(),
        b"a,b\n1,2,3\n4,5,7\n".to_vec(),
        harmless_and_not,
    );
    cases
}

#[test]
fn what_is_inside_is_told_like_what_is_outside() {
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
        // Nothing is left behind.
        let left = fs::read_dir(&temp).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{}", case.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
