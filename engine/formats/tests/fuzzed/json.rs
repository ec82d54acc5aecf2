//! Arbitrary text is parsed or rejected. All readers agree, and written text is parsed to the same value.

use prep_formats::json::{
    JsonElements, JsonGrammar, JsonLines, JsonStyle, JsonValue, WriteOptions, parse, reformat,
};

pub fn check(data: &[u8]) {
    let lines = JsonLines::new(data).map_while(Result::ok).count();
    assert!(lines <= data.len());
    let whole = parse(data);
    let records: Result<Vec<JsonValue>, _> = JsonElements::list(data).values().collect();
    let options = WriteOptions::default();
    match &whole {
        Ok(JsonValue::List(list)) => {
            let text = |value: &JsonValue| value.to_json(&options).expect("ASCII output succeeds");
            let records = JsonValue::List(records.expect("a list"));
            assert_eq!(text(&records), text(&JsonValue::List(list.clone())));
        }
        _ => assert!(records.is_err()),
    }
    let mut printed = Vec::new();
    if reformat(data, JsonGrammar::Python, JsonStyle::Python, &mut printed) {
        let value = whole.as_ref().expect("reformatted text is valid");
        assert_eq!(
            value.to_json(&options).expect("ASCII output succeeds"),
            printed
        );
    }
    if let Ok(value) = whole {
        let text = value.to_json(&options).expect("ASCII output succeeds");
        let again = parse(&text).expect("written text is valid");
        assert_eq!(
            again.to_json(&options).expect("ASCII output succeeds"),
            text
        );
    }
}
