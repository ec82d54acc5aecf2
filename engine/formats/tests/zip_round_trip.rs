//! Reads archives written by this crate and by Python's `zipfile`.

use crate::support;
use std::io::Read;

use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{MemberInflater, ZipDirectory, ZipEntry, ZipMethod, ZipWriter};
use proptest::prelude::*;
use support::{Member, archive};

fn list(bytes: &[u8]) -> Vec<ZipEntry> {
    ZipDirectory::read(
        bytes,
        0..bytes.len() as u64,
        &DecodingLimits::default().budget(1 << 20),
    )
    .unwrap()
    .entries()
}

/// Returns the path of each member, whether it is a directory, and its content. Reads the content in two ways.
fn contents(bytes: &[u8]) -> Vec<(String, bool, Vec<u8>)> {
    let mut inflater = MemberInflater::default();
    list(bytes)
        .into_iter()
        .map(|entry| {
            let mut whole = Vec::new();
            inflater.read_into(bytes, &entry, &mut whole).unwrap();
            let mut streamed = Vec::new();
            entry
                .open(bytes)
                .unwrap()
                .read_to_end(&mut streamed)
                .unwrap();
            assert_eq!(whole, streamed);
            (entry.path, entry.is_directory, whole)
        })
        .collect()
}

/// `tests/data/zip/record.py` wrote the archive and the list of its members.
#[test]
fn archives_of_python_are_read() {
    let bytes = include_bytes!("data/zip/python.zip");
    let expected: serde_json::Value =
        serde_json::from_str(include_str!("data/zip/python.json")).unwrap();
    let found: serde_json::Value = contents(bytes)
        .into_iter()
        .map(|(path, is_directory, content)| {
            serde_json::json!([path, is_directory, content.len(), crc32fast::hash(&content)])
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn written_archives_are_deterministic() {
    let write = || {
        let mut zip = ZipWriter::new(Vec::new());
        zip.add_directory("empty").unwrap();
        zip.add_file("d/z.txt", ZipMethod::Deflate, &b"zz".repeat(500)[..])
            .unwrap();
        zip.add_file("d/ä.txt", ZipMethod::Stored, &b"stored"[..])
            .unwrap();
        zip.finish().unwrap()
    };
    let bytes = write();
    assert_eq!(bytes, write());
    let found = contents(&bytes);
    assert_eq!(found[0], ("empty".into(), true, Vec::new()));
    assert_eq!(found[1].2, b"zz".repeat(500));
    assert_eq!(found[2], ("d/ä.txt".into(), false, b"stored".to_vec()));
}

#[test]
fn compressed_members_are_copied_without_decompressing() {
    let source = archive(&[
        Member::deflated("a", &b"abc".repeat(300)),
        Member::stored("b", b"bbb"),
    ]);
    let entries = list(&source);
    let mut zip = ZipWriter::new(Vec::new());
    for entry in &entries {
        zip.copy_member(&format!("copy/{}", entry.path), &source, entry)
            .unwrap();
    }
    let bytes = zip.finish().unwrap();
    let copies = list(&bytes);
    for (copy, entry) in copies.iter().zip(&entries) {
        let range = |range: std::ops::Range<u64>| range.start as usize..range.end as usize;
        let data = &bytes[range(copy.locate(&bytes).unwrap())];
        assert_eq!(data, &source[range(entry.locate(&source).unwrap())]);
    }
    assert_eq!(contents(&bytes)[0].2, b"abc".repeat(300));
}

#[test]
fn stored_inner_archive_is_read_in_place() {
    let inner = archive(&[Member::deflated("deep.txt", &b"deep".repeat(50))]);
    let outer = archive(&[
        Member::stored("x", b"x"),
        Member::stored("inner.zip", &inner),
    ]);
    let entry = list(&outer).remove(1);
    let range = entry.section(&outer).unwrap().expect("stored");
    let members = ZipDirectory::read(&outer, range, &DecodingLimits::default().budget(1 << 20))
        .unwrap()
        .entries();
    let mut content = Vec::new();
    members[0]
        .open(&outer)
        .unwrap()
        .read_to_end(&mut content)
        .unwrap();
    assert_eq!(content, b"deep".repeat(50));
}

#[test]
fn archive_with_more_than_65535_members_is_read() {
    let mut zip = ZipWriter::new(Vec::new());
    for index in 0..70_000 {
        zip.add_file(&format!("d/{index}"), ZipMethod::Stored, &b"x"[..])
            .unwrap();
    }
    let bytes = zip.finish().unwrap();
    assert_eq!(list(&bytes).len(), 70_000);
}

proptest! {
    #[test]
    fn arbitrary_members_round_trip(members in proptest::collection::btree_map("[a-zé]{1,8}", proptest::collection::vec(any::<u8>(), 0..3000), 0..8)) {
        let mut zip = ZipWriter::new(Vec::new());
        for (index, (path, content)) in members.iter().enumerate() {
            let method = if index % 2 == 0 { ZipMethod::Deflate } else { ZipMethod::Stored };
            zip.add_file(path, method, content.as_slice()).unwrap();
        }
        let found = contents(&zip.finish().unwrap());
        let expected: Vec<_> = members.into_iter().map(|(path, content)| (path, false, content)).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn damaged_archives_do_not_panic(position in 0usize..2000, value in any::<u8>(), cut in 0usize..2000) {
        let mut bytes = archive(&[Member::deflated("a", &b"abcd".repeat(100)), Member::stored("d/b", b"content"), Member::stored("e/", b"")]);
        let length = bytes.len();
        bytes[position % length] = value;
        if cut % 3 == 0 { bytes.truncate(cut % length); }
        if let Ok(zip) = ZipDirectory::read(&bytes, 0..bytes.len() as u64, &DecodingLimits::default().budget(1 << 20)) {
            for entry in zip.entries() {
                let mut content = Vec::new();
                let whole = MemberInflater::default().read_into(&bytes, &entry, &mut content);
                let mut streamed = Vec::new();
                let stream = entry.open(&bytes).map_err(std::io::Error::from).and_then(|mut reader| reader.read_to_end(&mut streamed));
                prop_assert_eq!(whole.is_ok(), stream.is_ok());
                prop_assert!(streamed.len() as u64 <= entry.size);
            }
        }
    }
}
