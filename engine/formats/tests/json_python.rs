//! Compares reading and writing with Python's `json` (see `tests/data/json/record.py`).

use crate::hex;
use hex::unhex;
use prep_formats::json::{
    JsonElements, JsonError, JsonErrorKind, JsonLines, JsonValue, JsonWriteError, WriteOptions,
    parse,
};
use prep_formats::limits::{DecodingLimits, Limit};
use proptest::prelude::*;

/// Returns the options for which `tests/data/json/record.py` recorded the outputs.
fn options() -> [WriteOptions; 5] {
    let default = WriteOptions::default();
    [
        default.clone(),
        WriteOptions {
            indent: Some(4),
            ..default.clone()
        },
        WriteOptions {
            indent: Some(1),
            sort_keys: true,
            ..default.clone()
        },
        WriteOptions {
            separators: Some((",".into(), ":".into())),
            ..default.clone()
        },
        WriteOptions {
            ensure_ascii: false,
            indent: Some(0),
            ..default
        },
    ]
}

#[test]
fn values_equal_those_of_python() {
    let mut compared = 0;
    for line in include_str!("data/json/cases.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let input = unhex(case["input"].as_str().unwrap());
        let shown = String::from_utf8_lossy(&input);
        match (parse(&input), case["outputs"].as_array()) {
            (Ok(value), Some(outputs)) => {
                for (options, expected) in options().iter().zip(outputs) {
                    let found = value.to_json(options);
                    match expected.as_str() {
                        Some(expected) => assert_eq!(
                            String::from_utf8_lossy(&found.unwrap()),
                            String::from_utf8_lossy(&unhex(expected)),
                            "{shown} {options:?}"
                        ),
                        None => assert!(matches!(found, Err(JsonWriteError::LoneSurrogate { .. }))),
                    }
                }
                compared += 1;
            }
            (Err(JsonError::Syntax { position, .. }), None) => {
                // Only the line of an error equals Python's. Python may report the column of a comma before the error.
                if let Some(place) = case["error"].as_array() {
                    assert_eq!(
                        place[0].as_u64(),
                        Some(position.line),
                        "{shown:?} {position}"
                    );
                }
            }
            (found, expected) => panic!("{shown}: {found:?} instead of {expected:?}"),
        }
    }
    assert!(compared > 400);
}

/// Returns the kind, line and column of a syntax error.
fn syntax(result: Result<JsonValue, JsonError>) -> (JsonErrorKind, u64, u64) {
    match result.unwrap_err() {
        JsonError::Syntax { kind, position } => (kind, position.line, position.column),
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_contain_their_position() {
    let deep = "[".repeat(2000);
    let table: [(&[u8], JsonErrorKind, u64, u64); 14] = [
        (b"", JsonErrorKind::ExpectedValue, 1, 1),
        (b"[1,\n  x]", JsonErrorKind::ExpectedValue, 2, 3),
        (
            "[\"é日\", x]".as_bytes(),
            JsonErrorKind::ExpectedValue,
            1,
            8,
        ),
        (b"{1: 2}", JsonErrorKind::ExpectedKey, 1, 2),
        (b"{\"a\" 2}", JsonErrorKind::ExpectedColon, 1, 6),
        (b"[1 2]", JsonErrorKind::ExpectedComma, 1, 4),
        (b"[] []", JsonErrorKind::ExtraData, 1, 4),
        (b"[\n\"abc", JsonErrorKind::OpenString, 2, 1),
        (b"\"a\tb\"", JsonErrorKind::ControlCharacter, 1, 3),
        (b"\"a\\qb\"", JsonErrorKind::InvalidEscape, 1, 3),
        (b"\xef\xbb\xbf[]", JsonErrorKind::ByteOrderMark, 1, 1),
        (b"[\"\xff\"]", JsonErrorKind::NotUtf8, 1, 3),
        (b"[\n1.5e,]", JsonErrorKind::ExpectedComma, 2, 4),
        (deep.as_bytes(), JsonErrorKind::TooDeep, 1, 981),
    ];
    for (text, kind, line, column) in table {
        let shown = String::from_utf8_lossy(&text[..text.len().min(20)]);
        assert_eq!(syntax(parse(text)), (kind, line, column), "{shown}");
    }
}

#[test]
fn lines_are_read_as_separate_values() {
    let text = "{\"a\":1}\r\n\n  \n[2]\n\"x\"";
    let values: Vec<JsonValue> = JsonLines::new(text.as_bytes())
        .map(Result::unwrap)
        .collect();
    assert_eq!(values.len(), 3);
    let mut broken = JsonLines::new(&b"1\n2 3\n4"[..]);
    assert_eq!(broken.next().unwrap().unwrap(), JsonValue::Int(1));
    assert_eq!(
        syntax(broken.next().unwrap()),
        (JsonErrorKind::ExtraData, 2, 3)
    );
    assert!(broken.next().is_none());
}

#[test]
fn list_reader_rejects_the_same_texts_as_the_parser() {
    let table: [(&str, JsonErrorKind, u64, u64); 8] = [
        ("", JsonErrorKind::ExpectedList, 1, 1),
        ("{}", JsonErrorKind::ExpectedList, 1, 1),
        ("[", JsonErrorKind::ExpectedValue, 1, 2),
        (
            "[{\"a\":1},\n{\"b\" 2}]",
            JsonErrorKind::ExpectedColon,
            2,
            6,
        ),
        ("[1,]", JsonErrorKind::ExpectedValue, 1, 4),
        ("[1\n", JsonErrorKind::ExpectedComma, 2, 1),
        ("[1] 2", JsonErrorKind::ExtraData, 1, 5),
        ("[{]", JsonErrorKind::ExpectedKey, 1, 3),
    ];
    for (text, kind, line, column) in table {
        let result = JsonElements::list(text.as_bytes())
            .values()
            .collect::<Result<Vec<_>, _>>();
        assert_eq!(
            syntax(result.map(JsonValue::List)),
            (kind, line, column),
            "{text}"
        );
    }
    for depth in [980, 981] {
        let deep = "[".repeat(depth) + &"]".repeat(depth);
        let read = JsonElements::list(deep.as_bytes())
            .values()
            .collect::<Result<Vec<_>, _>>();
        assert_eq!(read.is_ok(), parse(deep.as_bytes()).is_ok(), "{depth}");
    }
    let limits = DecodingLimits {
        record: 1000,
        ..DecodingLimits::default()
    };
    let long = format!("[\"{}\"]", "x".repeat(600_000));
    let result: Result<Vec<_>, _> = JsonElements::list(long.as_bytes())
        .with_limits(&limits)
        .values()
        .collect();
    let is_limit = |kind: JsonErrorKind| matches!(kind, JsonErrorKind::Limit(error) if (error.limit, error.allowed) == (Limit::Record, 1000));
    assert!(is_limit(syntax(result.map(JsonValue::List)).0));
    // Short texts with large values: 300 lists, and 100 members.
    let lists = format!("[[{}]]", vec!["[]"; 300].join(","));
    let members: Vec<String> = (0..100).map(|name| format!("\"{name}\":0")).collect();
    let object = format!("[{{{}}}]", members.join(","));
    for short in [lists, object] {
        let result: Result<Vec<_>, _> = JsonElements::list(short.as_bytes())
            .with_limits(&limits)
            .values()
            .collect();
        assert!(is_limit(syntax(result.map(JsonValue::List)).0), "{short}");
        let line = JsonLines::new(short.as_bytes()).with_limits(&limits).next();
        assert!(is_limit(syntax(line.unwrap()).0), "{short}");
    }
    let line = JsonLines::new(long.as_bytes()).with_limits(&limits).next();
    assert!(is_limit(syntax(line.unwrap()).0));
}

/// Reads at most the given number of bytes at once.
struct Trickle<'a>(&'a [u8], usize);

impl std::io::Read for Trickle<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let count = self.1.min(buf.len()).min(self.0.len());
        let (now, later) = self.0.split_at(count);
        buf[..count].copy_from_slice(now);
        self.0 = later;
        Ok(count)
    }
}

fn json() -> impl Strategy<Value = JsonValue> {
    let leaf = prop_oneof![
        Just(JsonValue::Null),
        any::<bool>().prop_map(JsonValue::Bool),
        any::<i64>().prop_map(JsonValue::Int),
        proptest::num::f64::NORMAL.prop_map(JsonValue::Float),
        any::<String>().prop_map(|text| JsonValue::String(text.into())),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(JsonValue::List),
            proptest::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|entries| { JsonValue::Object(entries.into_iter().collect(),) }),
        ]
    })
}

proptest! {
    #[test]
    fn values_round_trip(value in json(), which in 0usize..5) {
        let options = &options()[which];
        let text = value.to_json(options).unwrap();
        let back = parse(&text).unwrap();
        // Sorting can change the order of keys only the first time.
        prop_assert_eq!(back.to_json(options).unwrap(), text);
        if !options.sort_keys { prop_assert_eq!(back, value); }
    }

    #[test]
    fn list_reader_returns_the_elements_of_the_list(list in proptest::collection::vec(json(), 0..6), step in 1usize..9) {
        let list = JsonValue::List(list);
        let text = list.to_json(&WriteOptions { indent: Some(2), ..WriteOptions::default() }).unwrap();
        let records: Vec<JsonValue> = JsonElements::list(Trickle(&text, step)).values().map(Result::unwrap).collect();
        prop_assert_eq!(JsonValue::List(records), list);
    }

    #[test]
    fn arbitrary_text_does_not_panic(text in "[\\[\\]{},:\"\\\\0-9.eEu \\n\u{e9}a-]{0,40}") {
        let whole = parse(text.as_bytes());
        let records: Result<Vec<JsonValue>, _> = JsonElements::list(text.as_bytes()).values().collect();
        if let Ok(JsonValue::List(list)) = whole {
            prop_assert_eq!(records.unwrap(), list);
        } else {
            prop_assert!(records.is_err());
        }
    }
}
