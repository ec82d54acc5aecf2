//! The elements at a path equal those of the parsed document, if both can be read.

use prep_formats::json::{JsonElements, JsonValue, WriteOptions, parse};

pub fn check(data: &[u8]) {
    let found: Result<Vec<_>, _> = JsonElements::new(data, ["a"]).collect();
    let (Ok(elements), Ok(whole)) = (found, parse(data)) else {
        return;
    };
    let options = WriteOptions::default();
    let text = |value: &JsonValue| value.to_json(&options).expect("ASCII holds everything");
    let expected: Vec<_> = match whole.get("a") {
        Some(JsonValue::List(list)) => list.iter().map(text).collect(),
        Some(JsonValue::Object(object)) => object.iter().map(|(_, value)| text(value)).collect(),
        _ => panic!("nothing to iterate over"),
    };
    let found: Vec<_> = elements.iter().map(|(_, value)| text(value)).collect();
    assert_eq!(found, expected);
}
