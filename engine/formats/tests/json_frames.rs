//! Compares tables from lists of records with pandas (see `tests/data/json/record_frames.py`).

use prep_formats::json::{
    FormattedObject, FrameBuilder, FrameFunction, JsonElements, JsonGrammar, JsonLine, JsonLines,
    JsonValue, WriteOptions, parse,
};

/// Returns the rows of the table that `function` creates from the records.
fn rows(records: Vec<JsonValue>, function: FrameFunction) -> Result<Vec<JsonValue>, String> {
    let mut frame = FrameBuilder::new(function);
    for record in &records {
        frame
            .add(record)
            .map_err(|error| prep_failure::chain(&error))?;
    }
    let columns = frame
        .finish()
        .map_err(|error| prep_failure::chain(&error))?;
    let rows = records.iter();
    Ok(rows
        .map(|record| JsonValue::Object(columns.record(record.as_object().unwrap().clone())))
        .collect())
}

/// Reads JSON Lines like `pandas.read_json`, and writes the rows like `to_json`.
fn ujson(text: &str) -> Result<String, String> {
    let lines = JsonLines::new(text.as_bytes()).with_grammar(JsonGrammar::Ujson);
    let records: Result<Vec<JsonValue>, _> = lines.collect();
    let records = records.map_err(|error| prep_failure::chain(&error))?;
    let mut out = Vec::new();
    for row in rows(records, FrameFunction::ReadJson)? {
        row.push_pandas(&mut out)
            .map_err(|error| prep_failure::chain(&error))?;
        out.push(b'\n');
    }
    Ok(String::from_utf8(out).unwrap())
}

/// Reads a list of records like `pandas.DataFrame`, and writes the rows like `json.dumps`.
fn dataframe(text: &str) -> Result<String, String> {
    let records: Result<Vec<JsonValue>, _> = JsonElements::list(text.as_bytes()).values().collect();
    let records = records.map_err(|error| prep_failure::chain(&error))?;
    let rows = JsonValue::List(rows(records, FrameFunction::DataFrame)?);
    Ok(String::from_utf8(rows.to_json(&WriteOptions::default()).unwrap()).unwrap())
}

#[test]
fn rows_equal_those_of_pandas() {
    // The environment variable `FRAMES` names a file with additional cases.
    let path = std::env::var("FRAMES");
    let cases = match &path {
        Ok(path) => std::fs::read_to_string(path).unwrap(),
        Err(_) => include_str!("data/json/frames.jsonl").to_owned(),
    };
    let mut wrong = Vec::new();
    for (number, line) in cases.lines().enumerate() {
        let case = parse(line.as_bytes()).unwrap();
        let [reader, text, expected] = case.as_list().unwrap() else {
            panic!("line {number}");
        };
        let text = text.as_str().unwrap();
        let found = match reader.as_str() {
            Some("ujson") => ujson(text),
            _ => dataframe(text),
        };
        if found.as_deref().ok() != expected.as_str() {
            wrong.push(format!("{text}\n  {found:?}\n  {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Adds formatted records to a table. Returns the records, and whether the table reports that they equal its rows.
/// Returns `None` if a record is `None`.
fn add_formatted_records(
    records: Vec<Option<FormattedObject>>,
    function: FrameFunction,
) -> Option<(bool, Vec<FormattedObject>)> {
    let records: Vec<FormattedObject> = records.into_iter().collect::<Option<_>>()?;
    let mut frame = FrameBuilder::new(function);
    for record in &records {
        frame.add_formatted(record);
    }
    Some((frame.keeps_records(), records))
}

#[test]
fn records_reported_as_unchanged_equal_the_rows() {
    let path = std::env::var("FRAMES");
    let cases = match &path {
        Ok(path) => std::fs::read_to_string(path).unwrap(),
        Err(_) => include_str!("data/json/frames.jsonl").to_owned(),
    };
    let (mut kept, mut changed) = (0, 0);
    for line in cases.lines() {
        let case = parse(line.as_bytes()).unwrap();
        let [reader, text, expected] = case.as_list().unwrap() else {
            panic!("{line}");
        };
        let text = text.as_str().unwrap();
        let python = |value: &JsonValue| value.to_json(&WriteOptions::default()).unwrap();
        let (records, values, function): (Vec<_>, Vec<_>, _) = match reader.as_str() {
            Some("ujson") => {
                let mut lines = JsonLines::new(text.as_bytes()).with_grammar(JsonGrammar::Ujson);
                let mut records = Vec::new();
                while let Some(line) = lines.next_line() {
                    records.push(match line {
                        Ok(JsonLine::Formatted(record)) => Some(record),
                        _ => None,
                    });
                }
                let values = JsonLines::new(text.as_bytes()).with_grammar(JsonGrammar::Ujson);
                (records, values.flatten().collect(), FrameFunction::ReadJson)
            }
            _ => {
                let values = JsonElements::list(text.as_bytes()).values().flatten();
                let values: Vec<JsonValue> = values.collect();
                let records = values.iter();
                let records =
                    records.map(|value| FormattedObject::new(&python(value), JsonGrammar::Python));
                (records.collect(), values, FrameFunction::DataFrame)
            }
        };
        let Some((is_kept, records)) = add_formatted_records(records, function) else {
            continue;
        };
        let Ok(rows) = rows(values.clone(), function) else {
            continue;
        };
        let same =
            |(record, row): (&FormattedObject, &JsonValue)| record.text().as_bytes() == python(row);
        let is_same = records.iter().zip(&rows).all(same);
        // Records that the table reports as unchanged must equal the rows.
        if is_kept {
            assert!(is_same, "{text}");
        }
        let mut frame = FrameBuilder::new(function);
        for value in &values {
            frame.add(value).unwrap();
        }
        assert_eq!(frame.keeps_records(), is_kept, "{text}");
        if is_kept && expected.as_str().is_some() {
            kept += 1;
        }
        changed += u32::from(!is_same);
    }
    assert!(kept > 50 && changed > 50, "{kept} {changed}");
}

/// `pandas.read_json` converts a column with a name such as `date`, and names that are all numbers. This crate rejects such
/// records, and records that are not supported for other reasons.
#[test]
fn conversions_because_of_column_names_are_errors() {
    let cases = [
        ("{\"created_at\": \"2020-01-01\"}", "created_at"),
        ("{\"date\": 1600000000, \"a\": 1}", "date"),
        ("{\"1\": 2, \"2.5\": 1}", "numbers or dates"),
        ("{\"\": 1}", "numbers or dates"),
        ("{}\n{}", "the records have no members"),
        (
            "{\"a\": 123456789012345678901}",
            "an integer beyond 64 bits",
        ),
        ("[1]", "not an object"),
        ("{\"a\": 1}\n2", "not an object"),
    ];
    for (text, reason) in cases {
        let found = ujson(text).unwrap_err();
        assert!(found.contains(reason), "{text}: {found}");
    }
    for (text, expected) in [
        ("{\"a_time\": 5}", "{\"a_time\":5}\n"),
        ("{\"modified\": true}", "{\"modified\":true}\n"),
        ("{\"1\": 2, \"a\": 3}", "{\"1\":2,\"a\":3}\n"),
    ] {
        assert_eq!(ujson(text).as_deref(), Ok(expected));
    }
}
