//! Compares values with pandas' ujson (see `tests/data/json/record_pandas.py`).

use prep_formats::json::{JsonElements, JsonError, JsonGrammar, JsonValue};

/// Parses a text like pandas' ujson. The text becomes the only element of a list.
fn parse_pandas(text: &str) -> Result<JsonValue, JsonError> {
    let (list, empty_path) = (format!("[{text}]"), [""; 0]);
    let elements = JsonElements::new(list.as_bytes(), empty_path).with_grammar(JsonGrammar::Ujson);
    let elements: Vec<_> = elements.collect::<Result<_, _>>()?;
    let [(_, value)] = elements.try_into().expect("one value");
    Ok(value)
}

#[test]
fn values_equal_those_of_pandas() {
    let (mut compared_floats, mut compared) = (0, 0);
    for line in include_str!("data/json/pandas.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = case[0].as_str().unwrap();
        match (parse_pandas(text), case[1].as_str()) {
            (Ok(value), Some(expected)) => {
                // Also compares the double itself, because ten decimals would hide differences in its last bits.
                if let (Some([JsonValue::Float(float)]), Some(repr)) =
                    (value.as_list(), case[2][0].as_str())
                {
                    assert_eq!(repr.parse(), Ok(*float), "{text}");
                    compared_floats += 1;
                }
                compared += 1;
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
    assert!(
        compared_floats > 400 && compared > 1000,
        "{compared_floats} {compared}"
    );
}
