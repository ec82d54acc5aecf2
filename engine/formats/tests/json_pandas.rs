//! Compares values with pandas' ujson (see `tests/data/json/record_pandas.py`).

use prep_formats::json::{JsonElements, JsonError, JsonGrammar, JsonValue};

/// Parses a text with pandas' arithmetic. The text is the only element of a list.
fn parse_pandas(text: &str) -> Result<JsonValue, JsonError> {
    let (list, whole) = (format!("[{text}]"), [""; 0]);
    let elements = JsonElements::new(list.as_bytes(), whole).with_grammar(JsonGrammar::Ujson);
    let elements: Vec<_> = elements.collect::<Result<_, _>>()?;
    let [(_, value)] = elements.try_into().expect("one value");
    Ok(value)
}

#[test]
fn values_equal_those_of_pandas() {
    let (mut floats, mut read) = (0, 0);
    for line in include_str!("data/json/pandas.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = case[0].as_str().unwrap();
        match (parse_pandas(text), case[1].as_str()) {
            (Ok(value), Some(expected)) => {
                // Also compares the double itself, because ten decimals would hide differences in its last bits.
                if let (Some([JsonValue::Float(float)]), Some(read)) =
                    (value.as_list(), case[2][0].as_str())
                {
                    assert_eq!(read.parse(), Ok(*float), "{text}");
                    floats += 1;
                }
                read += 1;
                let mut found = Vec::new();
                value.push_pandas(&mut found).unwrap();
                assert_eq!(String::from_utf8(found).unwrap(), expected, "{text}");
            }
            (Err(_), None) => {}
            // Unpaired surrogates can be read but not written.
            (Ok(value), None) if value.push_pandas(&mut Vec::new()).is_err() => {}
            (found, expected) => panic!("{text}: {found:?} instead of {expected:?}"),
        }
    }
    assert!(floats > 400 && read > 1000, "{floats} {read}");
}
