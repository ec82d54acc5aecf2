//! Any text is read or refused; what is read survives writing and reading again,
//! and the reader of records agrees with the whole one. What is printed without reading is what reading it leads to.

use prep_formats::json::{
    Grammar, JsonElements, JsonLines, Printing, Value, WriteOptions, parse, reprint,
};

pub fn check(data: &[u8]) {
    let lines = JsonLines::new(data).map_while(Result::ok).count();
    assert!(lines <= data.len());
    let whole = parse(data);
    let records: Result<Vec<Value>, _> = JsonElements::list(data).values().collect();
    let options = WriteOptions::default();
    match &whole {
        Ok(Value::List(list)) => {
            let text = |value: &Value| value.to_json(&options).expect("ASCII holds everything");
            let records = Value::List(records.expect("a list"));
            assert_eq!(text(&records), text(&Value::List(list.clone())));
        }
        _ => assert!(records.is_err()),
    }
    let mut printed = Vec::new();
    if reprint(data, Grammar::Python, Printing::Python, &mut printed) {
        let value = whole.as_ref().expect("printed is read");
        assert_eq!(value.to_json(&options).expect("as before"), printed);
    }
    if let Ok(value) = whole {
        let text = value.to_json(&options).expect("ASCII holds everything");
        let again = parse(&text).expect("own output is read");
        assert_eq!(again.to_json(&options).expect("as before"), text);
    }
}
