//! Compares reformatted texts with parsing and formatting, and with recorded texts of Python and pandas.

use crate::hex;
use hex::unhex;
use prep_formats::json::{
    FormattedObject, JsonElements, JsonGrammar, JsonLine, JsonLines, JsonStyle, JsonValue,
    WriteOptions, parse, reformat,
};
use proptest::prelude::*;

/// Formats a text without parsing it, or returns `None` if the text must be parsed.
fn fast(text: &[u8], grammar: JsonGrammar, style: JsonStyle) -> Option<String> {
    let mut out = b"before".to_vec();
    let done = reformat(text, grammar, style, &mut out);
    let printed = String::from_utf8(out).unwrap();
    let printed = printed.strip_prefix("before").unwrap().to_owned();
    assert!(done || printed.is_empty(), "{printed}");
    done.then_some(printed)
}

/// Parses a text and formats its value, or returns `None` after an error.
fn slow(text: &[u8], grammar: JsonGrammar, style: JsonStyle) -> Option<String> {
    let value = match grammar {
        JsonGrammar::Python => parse(text).ok()?,
        // ujson parses the text as the only element of a list.
        JsonGrammar::Ujson => {
            let (list, empty_path) = ([b"[", text, b"]"].concat(), [""; 0]);
            let elements = JsonElements::new(&*list, empty_path).with_grammar(grammar);
            let elements: Vec<_> = elements.collect::<Result<_, _>>().ok()?;
            let [(_, value)] = elements.try_into().ok()?;
            value
        }
    };
    let mut out = Vec::new();
    match style {
        JsonStyle::Python => value.write(&mut out, &WriteOptions::default()).ok()?,
        JsonStyle::Pandas => value.push_pandas(&mut out).ok()?,
    }
    Some(String::from_utf8(out).unwrap())
}

/// All pairs of a grammar and a style.
const WAYS: [(JsonGrammar, JsonStyle); 4] = [
    (JsonGrammar::Python, JsonStyle::Python),
    (JsonGrammar::Ujson, JsonStyle::Python),
    (JsonGrammar::Python, JsonStyle::Pandas),
    (JsonGrammar::Ujson, JsonStyle::Pandas),
];

/// Fails if a text is formatted differently with and without parsing.
fn check_both_ways(text: &[u8]) -> Result<(), TestCaseError> {
    for (grammar, style) in WAYS {
        let slow = slow(text, grammar, style);
        if let Some(fast) = fast(text, grammar, style) {
            let shown = String::from_utf8_lossy(text);
            prop_assert_eq!(Some(fast), slow, "{} {:?} {:?}", shown, grammar, style);
        }
    }
    Ok(())
}

#[test]
fn reformatted_texts_equal_those_of_python() {
    let mut compared = 0;
    for line in include_str!("data/json/cases.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let input = unhex(case["input"].as_str().unwrap());
        let expected = case["outputs"].get(0).and_then(serde_json::Value::as_str);
        let expected = expected.map(|text| String::from_utf8(unhex(text)).unwrap());
        if let Some(found) = fast(&input, JsonGrammar::Python, JsonStyle::Python) {
            assert_eq!(Some(found), expected, "{}", String::from_utf8_lossy(&input));
            compared += 1;
        }
        check_both_ways(&input).unwrap();
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn reformatted_texts_equal_those_of_pandas() {
    let mut compared = 0;
    for line in include_str!("data/json/pandas.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let input = case[0].as_str().unwrap();
        let found = fast(input.as_bytes(), JsonGrammar::Ujson, JsonStyle::Pandas);
        if found.is_some() {
            assert_eq!(found.as_deref(), case[1].as_str(), "{input}");
            compared += 1;
        }
        check_both_ways(input.as_bytes()).unwrap();
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn ordinary_texts_are_reformatted_without_parsing() {
    for (text, python, pandas) in [
        (" { } ", "{}", "{}"),
        (
            r#"{"a":[1,-2,0,-0,1.50],"b/c":{"a":null,"b":true}}"#,
            r#"{"a": [1, -2, 0, 0, 1.5], "b/c": {"a": null, "b": true}}"#,
            r#"{"a":[1,-2,0,0,1.5],"b\/c":{"a":null,"b":true}}"#,
        ),
        (
            r#""é\u00E9\n\/\u0041\ud83c\udf55""#,
            r#""\u00e9\u00e9\n/A\ud83c\udf55""#,
            r#""\u00e9\u00e9\n\/A\ud83c\udf55""#,
        ),
        (
            "[NaN, -Infinity, 1e5, 12345678901234567890, \"\u{7f}\"]",
            "[NaN, -Infinity, 100000.0, 12345678901234567890, \"\\u007f\"]",
            "[null,null,100000.0,12345678901234567890,\"\u{7f}\"]",
        ),
    ] {
        let found = |style| fast(text.as_bytes(), JsonGrammar::Python, style);
        assert_eq!(found(JsonStyle::Python).as_deref(), Some(python));
        assert_eq!(found(JsonStyle::Pandas).as_deref(), Some(pandas));
    }
    // pandas cannot write an unpaired surrogate.
    let half = br#""\ud83c""#;
    assert!(fast(half, JsonGrammar::Python, JsonStyle::Python).is_some());
    assert!(fast(half, JsonGrammar::Python, JsonStyle::Pandas).is_none());
}

#[test]
fn unusual_values_are_left_to_the_parser() {
    let many: Vec<String> = (0..40).map(|key| format!("\"{key}\": 1")).collect();
    let many = format!("{{{}}}", many.join(","));
    let deep = "[".repeat(981) + &"]".repeat(981);
    let repeated = [r#"{"a":1,"a":2}"#, r#"[{"b":{"a":1,"\u0061":2}}]"#];
    for text in repeated.into_iter().chain([&*many, &*deep]) {
        for (grammar, style) in WAYS {
            assert_eq!(fast(text.as_bytes(), grammar, style), None, "{text}");
        }
    }
    assert_eq!(FormattedObject::new(b"[1]", JsonGrammar::Python), None);
}

#[test]
fn lines_are_formatted_or_left_to_the_parser() {
    let text = "{\"a\": 1}\n\n[2]\n{\"a\": 1, \"a\": 2}\n{\"a\":\n";
    let mut lines = JsonLines::new(text.as_bytes());
    let mut found = Vec::new();
    while let Some(line) = lines.next_line() {
        found.push(match line {
            Ok(JsonLine::Formatted(record)) => record.text().to_owned(),
            Ok(JsonLine::Value(value)) => format!("{value:?}"),
            Err(error) => prep_failure::chain(&error),
        });
    }
    let list = "List([Int(2)])";
    let object = format!("{:?}", parse(br#"{"a": 2}"#).unwrap());
    let error = "at line 6, column 1 (byte 37): expected a value";
    assert_eq!(found, [r#"{"a": 1}"#, list, &object, error]);
}

/// Generates JSON texts as people and programs write them: with spaces, escapes, repeated keys, and all parts of the
/// grammar.
fn spelled() -> impl Strategy<Value = String> {
    let string = prop_oneof![
        r#"[a-c]{0,2}"#,
        r#"([ -!#-\[\]-~é💡\x7f/]|\\u(00[0-9a-fA-F]{2}|[dD][89a-fA-F][0-9a-f]{2}|2028)|\\["\\/bfnrt]){0,40}"#,
    ];
    let string = string.prop_map(|text| format!("\"{text}\"")).boxed();
    let number = r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,3})?";
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("NaN".to_owned()),
        Just("-Infinity".to_owned()),
        number,
        "-?[0-9]{1,3}",
        string.clone(),
    ];
    leaf.prop_recursive(3, 24, 5, move |inner| {
        let member = (string.clone(), " {0,1}", inner.clone());
        let member = member.prop_map(|(key, space, value)| format!("{key}{space}:{value}{space}"));
        prop_oneof![
            proptest::collection::vec(inner, 0..5)
                .prop_map(|list| format!("[{}]", list.join(", "))),
            proptest::collection::vec(member, 0..5)
                .prop_map(|all| format!("{{{}}}", all.join(","))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn reformatting_a_value_equals_parsing_and_formatting(text in spelled()) {
        check_both_ways(text.as_bytes())?;
    }

    #[test]
    fn reformatting_any_text_equals_parsing_and_formatting(text in "[\\[\\]{},:\"\\\\0-9.eEu \\n\u{e9}aN/-]{0,40}", cut in 0_usize..40) {
        check_both_ways(text.as_bytes())?;
        check_both_ways(text.as_bytes().get(..cut).unwrap_or_default())?;
    }

    #[test]
    fn members_of_a_formatted_object_are_read_and_replaced(text in spelled(), key in "[a-c]{0,2}", new in spelled()) {
        let Some(mut record) = FormattedObject::new(text.as_bytes(), JsonGrammar::Python) else { return Ok(()) };
        let Ok(JsonValue::Object(mut object)) = parse(text.as_bytes()) else { panic!("{text}") };
        let new = parse(new.as_bytes()).unwrap_or(JsonValue::Null);
        let text = |value: &JsonValue| value.to_json(&WriteOptions::default()).unwrap();
        let mut names: Vec<String> = object.keys().filter_map(|key| Some(key.as_str()?.to_owned())).collect();
        names.push(key);
        for name in names {
            // Texts are compared, because NaN does not equal itself.
            prop_assert_eq!(record.get(&name).as_ref().map(text), object.get(&name).map(text));
            record.set(&name, &new).unwrap();
            if let Some(member) = object.get_mut(&name) { *member = new.clone(); }
            prop_assert_eq!(record.text().as_bytes(), text(&JsonValue::Object(object.clone())));
        }
    }
}
