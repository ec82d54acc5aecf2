//! The elements that `JsonElements` returns equal those of the parsed document, unless `JsonElements` or `parse`
//! reports an error.

use prep_formats::json::{JsonElements, JsonValue, WriteOptions, parse};

pub fn check(data: &[u8]) {
    let found: Result<Vec<_>, _> = JsonElements::new(data, ["a"]).collect();
    let (Ok(elements), Ok(whole)) = (found, parse(data)) else {
        return;
    };
    let options = WriteOptions::default();
    let text = |value: &JsonValue| value.to_json(&options).expect("ASCII output succeeds");
    let expected: Vec<_> = match whole.get("a") {
        Some(JsonValue::List(list)) => list.iter().map(text).collect(),
        Some(JsonValue::Object(object)) => object.iter().map(|(_, value)| text(value)).collect(),
        _ => panic!("`a` is neither a list nor an object"),
    };
    let found: Vec<_> = elements.iter().map(|(_, value)| text(value)).collect();
    assert_eq!(found, expected);
}
