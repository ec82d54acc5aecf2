//! Compares BSON with pymongo (see `tests/data/bson/record.py`).

use crate::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hex::unhex;
use prep_formats::bson::{BinaryReference, BsonDocument, BsonDocuments, BsonError, push_json};
use prep_formats::json::{WriteOptions, parse};
use proptest::prelude::*;
use serde_json::Value;

fn recorded() -> impl Iterator<Item = Value> {
    include_str!("data/bson/documents.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
}

fn bytes(case: &Value, field: &str) -> Vec<u8> {
    unhex(case[field].as_str().unwrap())
}

/// Converts a document to JSON and back.
fn through_json(data: Vec<u8>) -> Result<Vec<u8>, BsonError> {
    let json = BsonDocument::from_bytes(data).to_json()?;
    let json = parse(&json.to_json(&WriteOptions::default()).unwrap()).unwrap();
    let mut out = Vec::new();
    push_json(&json, &mut out, &mut no_file)?;
    Ok(out)
}

/// Returns whether a document may contain a NaN. JSON does not distinguish NaNs with different bits.
fn has_nan(data: &[u8]) -> bool {
    let mut eights = data.windows(8);
    eights.any(|eight| f64::from_le_bytes(eight.try_into().unwrap()).is_nan())
}

/// Converts each document to JSON and back. If the conversion succeeds, the result must have the bytes that pymongo
/// writes.
#[test]
fn written_documents_equal_those_of_pymongo() {
    let mut count = 0;
    for case in recorded() {
        for field in ["in", "out"] {
            if field == "out" && case["error"].is_string() {
                continue;
            }
            let found = through_json(bytes(&case, field));
            match found {
                Err(BsonError::CannotWrite { .. }) => {}
                found if case["error"].is_string() => assert!(found.is_err(), "{case}"),
                found => {
                    let (found, expected) = (found.unwrap(), bytes(&case, "out"));
                    assert!(found == expected || has_nan(&expected), "{field}: {case}");
                    count += 1;
                }
            }
        }
    }
    assert!(count > 1000, "{count}");
}

/// A reader of binaries for documents without references.
fn no_file(
    _: &BinaryReference,
    _: &mut Vec<u8>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Err("there is no file".into())
}

#[test]
fn long_binaries_become_references() {
    let mut file = Vec::new();
    for (number, length) in [(1, 64), (2, 65), (3, 5000)] {
        // Subtype 2 has a second length field.
        for subtype in [0, 2] {
            let base64 = STANDARD.encode(vec![number; length]);
            let text = format!(
                r#"{{"_id": {number}, "imgs": [{{"picture": {{"$binary": {{"base64": "{base64}", "subType": "{subtype:02}"}}}}}}]}}"#
            );
            push_json(&parse(text.as_bytes()).unwrap(), &mut file, &mut no_file).unwrap();
        }
    }
    let mut again = Vec::new();
    let mut places = Vec::new();
    for document in BsonDocuments::new(file.as_slice()) {
        let json = document
            .unwrap()
            .to_json_with_references("a/b.bson")
            .unwrap();
        let text = json.to_json(&WriteOptions::default()).unwrap();
        assert!(text.len() < 250, "{}", String::from_utf8_lossy(&text));
        let json = parse(&text).unwrap();
        push_json(&json, &mut again, &mut |binary, out| {
            assert_eq!(binary.file, "a/b.bson");
            let from = usize::try_from(binary.at)?;
            let piece = file.get(from..from + usize::try_from(binary.bytes)?);
            out.extend_from_slice(piece.ok_or("the file is shorter")?);
            places.push(binary.at);
            Ok(())
        })
        .unwrap();
        let changed = push_json(&json, &mut Vec::new(), &mut |binary, out| {
            out.resize(usize::try_from(binary.bytes)?, 9);
            Ok(())
        });
        let is_long = text.windows(6).any(|six| six == b"blake3");
        assert_eq!(
            matches!(changed, Err(BsonError::ReferencedBinary { .. })),
            is_long,
            "{changed:?}"
        );
    }
    assert_eq!(again, file);
    assert!(places.is_sorted() && places.len() == 4, "{places:?}");
}

#[test]
fn file_is_read_document_by_document() {
    let documents: Vec<Vec<u8>> = recorded()
        .filter(|case| case["out"].is_string())
        .map(|case| bytes(&case, "out"))
        .collect();
    let file = documents.concat();
    let mut offset = 0;
    let mut read = BsonDocuments::new(file.as_slice());
    for expected in &documents {
        let document = read.next().unwrap().unwrap();
        assert_eq!(document.bytes(), expected);
        assert_eq!(document.offset(), offset);
        offset += expected.len() as u64;
    }
    assert!(read.next().is_none());
    // If the file is truncated inside the last document, the documents before it are read.
    let last = file.len() - documents.last().unwrap().len();
    for end in [last + 1, last + 3, last + 4, file.len() - 1] {
        let mut read: Vec<_> = BsonDocuments::new(&file[..end]).collect();
        let error = read.pop().unwrap().unwrap_err();
        assert!(matches!(error, BsonError::Truncated { offset } if offset == last as u64));
        assert_eq!(read.len(), documents.len() - 1);
    }
    let short = BsonDocuments::new(&b"\x04\0\0\0"[..]).next().unwrap();
    assert!(matches!(
        short,
        Err(BsonError::WrongLength { length: 4, .. })
    ));
    let long = BsonDocuments::new(&b"\xff\xff\xff\x7f"[..]).next().unwrap();
    assert!(matches!(long, Err(BsonError::WrongLength { .. })));
}

#[test]
fn invalid_extended_json_is_an_error() {
    for text in [
        "[]",
        r#"{"a": 99999999999999999999}"#,
        r#"{"a": {"$oid": "12"}}"#,
        r#"{"a": {"$numberLong": "x"}}"#,
        r#"{"a": {"$numberInt": "2147483648"}}"#,
        r#"{"a": {"$binary": {"base64": "?", "subType": "00"}}}"#,
        r#"{"a\u0000": 1}"#,
        r#"{"a": "\ud83c"}"#,
    ] {
        let value = parse(text.as_bytes()).unwrap();
        let found = push_json(&value, &mut Vec::new(), &mut no_file);
        assert!(
            matches!(found, Err(BsonError::NotExtendedJson { .. })),
            "{text}: {found:?}"
        );
    }
}

/// An object with a key such as `$oid` represents a BSON value only if it has no other keys.
#[test]
fn other_keys_with_a_dollar_are_ordinary_keys() {
    for text in [
        r#"{"a": {"$what": 1}}"#,
        r#"{"a": {"$oid": "0123456789abcdef01234567", "b": 1}}"#,
        r#"{"a": {"b": 1, "$oid": 2}}"#,
        r#"{"a": {"$ref": "c", "$id": {"$oid": "0123456789abcdef01234567"}, "$db": "d"}}"#,
        r#"{"$oid": 1}"#,
    ] {
        let value = parse(text.as_bytes()).unwrap();
        let mut data = Vec::new();
        push_json(&value, &mut data, &mut no_file).unwrap();
        assert_eq!(BsonDocument::from_bytes(data).to_json().unwrap(), value);
    }
    // A document that looks like the Extended JSON of a value cannot be converted.
    let data = b"\x20\0\0\0\x03a\0\x18\0\0\0\x02$numberLong\0\x02\0\0\x005\0\0\0";
    let found = BsonDocument::from_bytes(data.to_vec()).to_json();
    assert!(
        matches!(found, Err(BsonError::CannotWrite { .. })),
        "{found:?}"
    );
}

proptest! {
    #[test]
    fn damaged_documents_do_not_panic(which in 0usize..800, place in any::<prop::sample::Index>(), value in any::<u8>()) {
        let cases: Vec<Value> = recorded().collect();
        let mut data = bytes(&cases[which % cases.len()], "in");
        let place = place.index(data.len());
        data[place] = value;
        if let Ok(once) = through_json(data) {
            prop_assert_eq!(through_json(once.clone()).unwrap(), once);
        }
    }
}
