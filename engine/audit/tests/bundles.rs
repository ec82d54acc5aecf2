//! Bundles that differ from the published one. Each is a modified copy of a good bundle.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use md5::{Digest, Md5};
use prep_audit::AuditReport;
use prep_audit::bundle::{self, Expected, known};
use prep_contents::DecodingLimits;
use prep_formats::zip::{ZipMethod, ZipWriter};

fn noise(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

fn zip(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Vec::new());
    for (name, content) in members {
        zip.add_file(name, ZipMethod::Deflate, content.as_slice())
            .unwrap();
    }
    zip.finish().unwrap()
}

fn members() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("train.csv", noise(60_000, 1)),
        ("images/a.jpg", noise(30_000, 2)),
        ("images/b.jpg", noise(30_000, 3)),
        ("test.csv", b"id\n1\n2\n".to_vec()),
    ]
}

fn members_with(name: &'static str, content: Vec<u8>) -> Vec<(&'static str, Vec<u8>)> {
    let mut all: Vec<_> = members()
        .into_iter()
        .filter(|member| member.0 != name)
        .collect();
    all.push((name, content));
    all
}

/// Replaces a name with one of the same length, in all records of the archive.
fn rename(zip: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = zip.to_vec();
    let mut at = 0;
    while let Some(found) = bytes[at..]
        .windows(from.len())
        .position(|part| part == from.as_bytes())
    {
        bytes[at + found..at + found + from.len()].copy_from_slice(to.as_bytes());
        at += found + from.len();
    }
    bytes
}

fn patched(zip: &[u8], at: usize, patch: &[u8]) -> Vec<u8> {
    let mut bytes = zip.to_vec();
    bytes[at..at + patch.len()].copy_from_slice(patch);
    bytes
}

fn text_mode(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in bytes {
        if *byte == b'\n' && out.last() != Some(&b'\r') {
            out.push(b'\r');
        }
        out.push(*byte);
    }
    out
}

const PAGE: &[u8] = b"<!DOCTYPE html><html><body>Too many requests, please slow down</body></html>";

/// Name of the case, change of the good bundle, expected causes, and a text that proofs or examples must contain.
type Case = (
    &'static str,
    fn(&[u8]) -> Vec<u8>,
    &'static [&'static str],
    &'static str,
);

const CASES: &[Case] = &[
    ("good", <[u8]>::to_vec, &[], ""),
    (
        "an empty file",
        |_| Vec::new(),
        &["bundle-cut-off"],
        "the file is empty",
    ),
    (
        "truncated",
        |good| good[..70_000].to_vec(),
        &["bundle-cut-off"],
        "the file has 70000 bytes; the published bundle has about",
    ),
    (
        "truncated within the central directory",
        |good| good[..good.len() - 40].to_vec(),
        &["bundle-cut-off"],
        "bytes; the published bundle has about",
    ),
    (
        "zeros at the end",
        |good| patched(good, 80_000, &vec![0; good.len() - 80_000]),
        &["bundle-hole"],
        "from byte 80000",
    ),
    (
        "zeros in the middle",
        |good| patched(good, 10_000, &[0; 4096]),
        &["bundle-hole"],
        "zero bytes, starting at byte 10000",
    ),
    (
        "only zeros",
        |good| vec![0; good.len()],
        &["bundle-hole"],
        "begins with zero bytes",
    ),
    (
        "bytes after the end",
        |good| [good, b"and something more".as_slice()].concat(),
        &["bundle-bytes-appended"],
        "18 bytes after the end of central directory record",
    ),
    (
        "gzip around the bundle",
        |good| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(good).unwrap();
            packed.finish().unwrap()
        },
        &["bundle-gzipped"],
        "the published MD5",
    ),
    (
        "gzip around other bytes",
        |good| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(&good[1..]).unwrap();
            packed.finish().unwrap()
        },
        &["bundle-not-an-archive"],
        "gzip",
    ),
    (
        "files of an operating system",
        |_| {
            let mut all = members();
            all.push(("__MACOSX/images/._a.jpg", noise(80, 7)));
            all.push(("images/.DS_Store", noise(90, 8)));
            zip(&all)
        },
        &["bundle-system-files"],
        "__MACOSX",
    ),
    (
        "texts with CR LF",
        |_| zip(&members_with("test.csv", b"id\r\n1\r\n2\r\n".to_vec())),
        &["bundle-line-ends"],
        "test.csv",
    ),
    (
        "a changed text with CR LF",
        |_| zip(&members_with("test.csv", b"id\r\n1\r\n3\r\n".to_vec())),
        &["bundle-changed"],
        "test.csv",
    ),
    (
        "files of an operating system and a changed text",
        |_| {
            let mut all = members_with("test.csv", b"id\n1\n3\n".to_vec());
            all.push(("__MACOSX/._test.csv", noise(80, 7)));
            zip(&all)
        },
        &["bundle-changed", "bundle-system-files"],
        "test.csv",
    ),
    (
        "HTML",
        |_| PAGE.to_vec(),
        &["bundle-error-page"],
        "Too many requests",
    ),
    (
        "JSON",
        |_| br#"{"code":403,"message":"You must accept this competition's rules"}"#.to_vec(),
        &["bundle-error-page"],
        "must accept",
    ),
    (
        "XML",
        |_| br#"<?xml version="1.0"?><Error><Code>ExpiredToken</Code></Error>"#.to_vec(),
        &["bundle-error-page"],
        "ExpiredToken",
    ),
    (
        "an error page in the middle",
        |good| patched(good, 70_000, PAGE),
        &["bundle-page-inside"],
        "images/a.jpg: starting at byte 70000",
    ),
    (
        "an error page at the end",
        |good| [&good[..80_000], PAGE].concat(),
        &["bundle-page-inside"],
        "starting at byte 80000",
    ),
    (
        "the last byte is missing",
        |good| good[..good.len() - 1].to_vec(),
        &["bundle-cut-off"],
        "the file has",
    ),
    (
        "a truncated comment",
        |good| {
            let end = good.len() - 2;
            [&good[..end], b"\x09\0comm".as_slice()].concat()
        },
        &["bundle-cut-off"],
        "the file has",
    ),
    (
        "members that share bytes",
        |good| {
            let at = good.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
            patched(good, at + 20, &[0xff, 0xff, 0xff, 0x00])
        },
        &["bundle-directory-damaged"],
        "the compressed sizes of the members",
    ),
    (
        "line endings converted",
        text_mode,
        &["bundle-text-mode"],
        "every LF comes after a CR",
    ),
    (
        "a changed bit in a member",
        |good| patched(good, 65_000, &[good[65_000] ^ 4]),
        &["bundle-member-damaged"],
        "images/a.jpg",
    ),
    (
        "a changed bit in the central directory",
        |good| {
            let at = good.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
            patched(good, at + 1, b"J")
        },
        &["bundle-directory-damaged"],
        "but 3 are listed",
    ),
    (
        "a wrong signature at the beginning",
        |good| patched(good, 0, b"PKxx"),
        &["bundle-not-an-archive"],
        "",
    ),
    (
        "members inside a directory",
        |_| {
            zip(&members()
                .iter()
                .map(|(name, content)| (&*format!("comp/{name}").leak(), content.clone()))
                .collect::<Vec<_>>())
        },
        &["bundle-folder"],
        "comp/",
    ),
    (
        "zipped twice",
        |good| zip(&[("comp.zip", good.to_vec())]),
        &["bundle-zipped-twice"],
        "published MD5",
    ),
    (
        "backslashes",
        |good| rename(good, "images/", "images\\"),
        &["bundle-backslashes"],
        "images\\a.jpg",
    ),
    (
        "a duplicate name",
        |good| rename(good, "images/b.jpg", "images/a.jpg"),
        &["bundle-name-twice"],
        "images/a.jpg",
    ),
    (
        "members in a different order",
        |_| {
            let mut all = members();
            all.reverse();
            zip(&all)
        },
        &["bundle-repacked"],
        "all 4 members",
    ),
    (
        "a member with different content",
        |_| zip(&members_with("test.csv", b"id\n1\n3\n".to_vec())),
        &["bundle-changed"],
        "test.csv has 7 bytes",
    ),
    (
        "a missing member",
        |_| zip(&members()[..3]),
        &["bundle-changed"],
        "test.csv is missing",
    ),
    (
        "an additional member",
        |_| zip(&members_with("leak.csv", vec![1])),
        &["bundle-changed"],
        "leak.csv is new",
    ),
    (
        "a different archive format",
        |_| [&b"7z\xbc\xaf\x27\x1c"[..], &noise(500, 4)].concat(),
        &["bundle-not-an-archive"],
        "",
    ),
];

fn md5(bytes: &[u8]) -> String {
    prep_formats::hex::encode(&Md5::digest(bytes))
}

fn causes(path: &Path, expected: &Expected) -> (Vec<&'static str>, String) {
    let checked = bundle::check(path, expected, &DecodingLimits::default()).unwrap();
    let report = AuditReport::new(checked.findings);
    let causes = report.blocks.iter().map(|block| block.cause).collect();
    let words: Vec<String> = report
        .blocks
        .iter()
        .map(|block| format!("{:?} {:?}", block.proof, block.examples))
        .collect();
    (causes, words.join("\n").replace("\\\\", "\\"))
}

#[test]
fn a_changed_bundle_is_reported_with_its_cause() {
    let home = tempfile::tempdir().unwrap();
    let good = zip(&members());
    let path = home.path().join("comp.zip");
    fs::write(&path, &good).unwrap();
    known::remember(home.path(), "good", &path).unwrap();
    let expected = Expected {
        md5: Some(md5(&good)),
        size: Some(good.len() as u64),
        members: known::recall(home.path(), "good").unwrap(),
        paths: vec!["train.csv".into(), "test.csv".into()],
    };
    assert_eq!(expected.members.as_ref().unwrap().len(), 4);
    let mut wrong = Vec::new();
    for (name, change, wanted, words) in CASES {
        fs::write(&path, change(&good)).unwrap();
        let (found, texts) = causes(&path, &expected);
        if found != *wanted || !texts.contains(words) {
            wrong.push(format!("{name}: {found:?}, expected {wanted:?}\n{texts}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn members_of_a_zip64_archive_are_checked() {
    let good = include_bytes!("../../formats/tests/data/archives/zip64.zip");
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("comp.zip");
    let expected = Expected {
        md5: Some("0".repeat(32)),
        ..Expected::default()
    };
    let at = good.windows(6).position(|w| w == b"stored").unwrap();
    let place = format!("a.txt, bytes {at} to {}", at + 6);
    for (bytes, cause, text) in [
        (good.to_vec(), "bundle-other-md5", "all 2 members match"),
        (patched(good, at, b"S"), "bundle-member-damaged", &place),
    ] {
        fs::write(&path, bytes).unwrap();
        let (found, texts) = causes(&path, &expected);
        assert_eq!(found, [cause]);
        assert!(texts.contains(text), "{texts}");
    }
}

/// If the damage were ignored, the audit would report every intact archive as `bundle-other-md5`.
#[test]
fn a_damaged_member_list_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("comp.zip");
    fs::write(&path, zip(&members())).unwrap();
    known::remember(home.path(), "good", &path).unwrap();
    assert!(known::recall(home.path(), "other").unwrap().is_none());
    let list = home.path().join("good.gz");
    let whole = fs::read(&list).unwrap();
    for cut in [0, 1, 10, whole.len() / 2, whole.len() - 1] {
        fs::write(&list, &whole[..cut]).unwrap();
        let error = known::recall(home.path(), "good").unwrap_err();
        assert!(error.to_string().contains("good.gz"), "{cut}: {error}");
        assert!(!error.is_of_the_system(), "{cut}: {error}");
    }
    fs::remove_file(&list).unwrap();
    fs::create_dir(&list).unwrap();
    let error = known::recall(home.path(), "good").unwrap_err();
    assert!(error.is_of_the_system(), "{error}");
}

/// Without a member list, the audit can compare only the MD5 and the paths that the pipeline reads.
#[test]
fn an_intact_archive_without_a_known_list_has_a_different_md5() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("comp.zip");
    let mut all = members();
    all.reverse();
    fs::write(&path, zip(&all)).unwrap();
    let expected = Expected {
        md5: Some("0".repeat(32)),
        paths: vec!["train.csv".into()],
        ..Expected::default()
    };
    assert_eq!(causes(&path, &expected).0, ["bundle-other-md5"]);
    let directory: Vec<(&str, Vec<u8>)> = members()
        .into_iter()
        .map(|(name, content)| (&*format!("a/{name}").leak(), content))
        .collect();
    fs::write(&path, zip(&directory)).unwrap();
    assert_eq!(causes(&path, &expected).0, ["bundle-folder"]);
}

/// Returns the offsets at which the end records of zip archives end. Includes nested archives.
fn ends_of_records(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let places = bytes.windows(4).enumerate();
    places.filter_map(|(at, window)| (window == b"PK\x05\x06").then_some(at + 22))
}

#[test]
fn truncation_to_any_length_is_reported() {
    const LENGTHS: u32 = 40;
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let home = tempfile::tempdir().unwrap();
    let (mut wrong, mut count, mut nested) = (Vec::new(), 0, 0);
    for competition in fs::read_dir(&cases).unwrap() {
        let bundle = competition.unwrap().path().join("seed0/raw.zip");
        let Ok(good) = fs::read(&bundle) else {
            continue;
        };
        let path = home.path().join("comp.zip");
        let ends: Vec<usize> = ends_of_records(&good)
            .filter(|end| *end < good.len())
            .collect();
        nested += usize::from(!ends.is_empty());
        let ends = ends.iter().flat_map(|end| [*end, end + 1, end + 700]);
        let last = [1, 2, 3, 21, 22, 23, 60].map(|less| good.len() - less);
        let first = [1, 2, 3, 4, 29, 30, 31];
        let noise = noise(4 * LENGTHS as usize, good.len() as u32);
        let even = noise.as_chunks::<4>().0.iter();
        let even = even.map(|bytes| u32::from_le_bytes(*bytes) as usize % good.len());
        let lengths = ends.chain(last).chain(first).chain(even);
        let lengths: std::collections::BTreeSet<usize> = lengths
            .filter(|length| (1..good.len()).contains(length))
            .collect();
        for length in lengths {
            count += 1;
            fs::write(&path, &good[..length]).unwrap();
            let expected = Expected {
                md5: Some("0".repeat(32)),
                ..Expected::default()
            };
            let (found, texts) = causes(&path, &expected);
            if found != ["bundle-cut-off"] {
                wrong.push(format!(
                    "{}, {length} of {}: {found:?} {texts}",
                    bundle.display(),
                    good.len()
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        count > 1_000 && nested > 5,
        "{count} lengths, {nested} bundles with archives"
    );
}
