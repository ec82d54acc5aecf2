//! Compares the elements at a path with those of the parsed document. Also tests Latin-1 streams.

use std::io::{self, Read};

use prep_formats::json::{JsonElements, JsonError, JsonErrorKind, JsonValue, WriteOptions, parse};
use prep_formats::limits::DecodingLimits;
use prep_formats::text_encoding::{TextEncoding, Utf8Reader};
use proptest::prelude::*;

/// Reads at most the given number of bytes at once.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(out.len()).min(self.0.len());
        out[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

/// Returns the elements at a path, with their keys if the path leads to an object.
fn read(text: &str, path: &[&str]) -> Result<Vec<(Option<String>, JsonValue)>, JsonError> {
    JsonElements::new(Trickle(text.as_bytes(), 3), path.iter().copied())
        .map(|element| {
            let (key, value) = element?;
            Ok((key.map(|key| key.to_string_lossy().into_owned()), value))
        })
        .collect()
}

/// Returns the elements at a path of the parsed document, or `None` if the path leads to no list or object.
fn expected(text: &str, path: &[&str]) -> Option<Vec<(Option<String>, JsonValue)>> {
    let mut value = parse(text.as_bytes()).unwrap();
    for step in path {
        value = match value {
            JsonValue::Object(object) => object.get(step)?.clone(),
            JsonValue::List(list) => list.get(step.parse::<usize>().ok()?)?.clone(),
            _ => return None,
        };
    }
    match value {
        JsonValue::List(list) => Some(list.into_iter().map(|item| (None, item)).collect()),
        JsonValue::Object(object) => Some(
            object
                .into_iter()
                .map(|(key, value)| (Some(key.to_string_lossy().into_owned()), value))
                .collect(),
        ),
        _ => None,
    }
}

#[test]
fn elements_equal_those_of_the_parsed_document() {
    let text = r#" { "info" : {"a]": "}\"{"}, "images": [ {"id": 1, "x": [1, [2]]}, {"id": "\u00e9"} , 3, null ],
        "empty": [], "none": {}, "deep": [[], {"k": {"b": 1, "c": [true]}}], "\u0061b": {"x": "y"} } "#;
    let paths: &[&[&str]] = &[
        &[],
        &["info"],
        &["images"],
        &["images", "0"],
        &["images", "0", "x"],
        &["images", "0", "x", "1"],
        &["empty"],
        &["none"],
        &["deep"],
        &["deep", "1", "k"],
        &["deep", "1", "k", "c"],
        &["ab"],
    ];
    for path in paths {
        assert_eq!(
            read(text, path).unwrap(),
            expected(text, path).unwrap(),
            "{path:?}"
        );
    }
}

#[test]
fn invalid_documents_and_paths_are_errors() {
    use JsonErrorKind::*;
    let cases: &[(&str, &[&str], JsonErrorKind)] = &[
        ("", &[], ExpectedListOrObject),
        ("3", &[], ExpectedListOrObject),
        (r#"{"a": 3}"#, &["a"], ExpectedListOrObject),
        (r#"{"a": [1]}"#, &["b"], NoSuchElement { step: 0 }),
        (r#"{"a": [1]}"#, &["a", "1"], NoSuchElement { step: 1 }),
        (r#"{"a": [1]}"#, &["a", "01"], NoSuchElement { step: 1 }),
        (r#"{"a": [1], "b": 2, "a": [3]}"#, &["a"], RepeatedKey),
        (r#"{"a": {"x": 1, "x": 2}}"#, &["a"], RepeatedKey),
        (r#"{"a": [1], "b": 2} x"#, &["a"], ExtraData),
        (r#"{"a": [1], "b" 2}"#, &["a"], ExpectedColon),
        (r#"{"a": [1], b: 2}"#, &["a"], ExpectedKey),
        (r#"{"a": [1], }"#, &["a"], ExpectedKey),
        (r#"{"a": [1,]}"#, &["a"], ExpectedValue),
        (r#"{"a": [1 2]}"#, &["a"], ExtraData),
        (r#"{"a": [1}"#, &["a"], ExpectedComma),
        (r#"{"a": [1]"#, &["a"], ExpectedComma),
        (r#"{"b": , "a": [1]}"#, &["a"], ExpectedValue),
    ];
    for (text, path, kind) in cases {
        match read(text, path) {
            Err(JsonError::Syntax { kind: found, .. }) => assert_eq!(found, *kind, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    let limits = DecodingLimits {
        record: 1000,
        ..DecodingLimits::default()
    };
    let long = format!(r#"{{"a": ["{}"]}}"#, "x".repeat(700_000));
    let elements = JsonElements::new(long.as_bytes(), ["a"]).with_limits(&limits);
    let found: Result<Vec<_>, _> = elements.collect();
    assert!(found.is_err());
    // Skipped values may exceed the limit.
    let skipped = format!(r#"{{"b": "{}", "a": [7]}}"#, "x".repeat(700_000));
    let elements = JsonElements::new(skipped.as_bytes(), ["a"]).with_limits(&limits);
    assert_eq!(elements.map(Result::unwrap).count(), 1);
}

/// Generates values with a few levels of nesting. Different objects may have the same keys.
fn values() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::json!(null)),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[a-c\"\\\\{}\\[\\],: é]{0,5}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::vec(("[ab]{1,2}", inner), 0..4)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn elements_at_any_path_equal_the_parsed_document(
        document in values(),
        path in prop::collection::vec("[ab]{1,2}|[0-3]", 0..3),
        pretty: bool,
        step in 1usize..7,
    ) {
        let text = if pretty {
            serde_json::to_string_pretty(&document).unwrap()
        } else {
            document.to_string()
        };
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let found: Result<Vec<_>, _> = JsonElements::new(Trickle(text.as_bytes(), step), path.iter().copied())
            .map(|element| element.map(|(key, value)| (key.map(|key| key.to_string_lossy().into_owned()), value)))
            .collect();
        match expected(&text, &path) {
            Some(elements) => prop_assert_eq!(found.unwrap(), elements),
            None => prop_assert!(found.is_err()),
        }
    }

    #[test]
    fn arbitrary_text_does_not_panic(text in "[\\[\\]{}:,\"ab1\\\\ ]{0,40}") {
        let _ = read(&text, &["a"]);
        if let Ok(elements) = read(&text, &[]) {
            for (_, value) in elements {
                value.to_json(&WriteOptions::default()).unwrap();
            }
        }
    }

    #[test]
    fn latin1_conversion_does_not_depend_on_chunk_sizes(bytes in prop::collection::vec(any::<u8>(), 0..300), step in 1usize..9, size in 1usize..9) {
        let mut reader = Utf8Reader::new(Trickle(&bytes, step), TextEncoding::Latin1);
        let mut text = Vec::new();
        let mut piece = vec![0; size];
        loop {
            let count = reader.read(&mut piece).unwrap();
            if count == 0 {
                break;
            }
            text.extend(&piece[..count]);
        }
        let expected: String = bytes.iter().copied().map(char::from).collect();
        prop_assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
