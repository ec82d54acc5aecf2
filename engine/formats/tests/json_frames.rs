//! Lists of records compared with pandas' tables (see `tests/data/json/record_frames.py`).

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

use prep_formats::json::{
    Frame, JsonLines, JsonRecords, Numbers, Typing, Value, WriteOptions, parse,
};

/// The rows of pandas' table, or why there is none.
fn rows(records: Vec<Value>, typing: Typing) -> Result<Vec<Value>, String> {
    let mut frame = Frame::new(typing);
    for record in &records {
        frame.see(record).map_err(|error| error.to_string())?;
    }
    let columns = frame.finish().map_err(|error| error.to_string())?;
    let rows = records.iter();
    Ok(rows
        .map(|record| Value::Object(columns.record(record.as_object().unwrap().clone())))
        .collect())
}

fn ujson(text: &str) -> Result<String, String> {
    let lines = JsonLines::new(text.as_bytes()).with_numbers(Numbers::Ujson);
    let records: Result<Vec<Value>, _> = lines.collect();
    let records = records.map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    for row in rows(records, Typing::ReadJson)? {
        row.push_pandas(&mut out)
            .map_err(|error| error.to_string())?;
        out.push(b'\n');
    }
    Ok(String::from_utf8(out).unwrap())
}

fn dataframe(text: &str) -> Result<String, String> {
    let records: Result<Vec<Value>, _> = JsonRecords::new(text.as_bytes()).collect();
    let records = records.map_err(|error| error.to_string())?;
    let rows = Value::List(rows(records, Typing::DataFrame)?);
    Ok(String::from_utf8(rows.to_json(&WriteOptions::default()).unwrap()).unwrap())
}

#[test]
fn records_become_rows_as_in_pandas() {
    // `FRAMES=FILE` takes further cases than the recorded ones.
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

#[test]
fn what_pandas_would_change_by_name_is_refused() {
    let cases = [
        ("{\"created_at\": \"2020-01-01\"}", "created_at"),
        ("{\"date\": 1600000000, \"a\": 1}", "date"),
        ("{\"1\": 2, \"2.5\": 1}", "numbers or dates"),
        ("[1]", "no object"),
        ("{\"a\": 1}\n2", "no object"),
    ];
    for (text, reason) in cases {
        let found = ujson(text).unwrap_err();
        assert!(found.contains(reason), "{text}: {found}");
    }
    // Numbers that are no dates, and what holds no text.
    for (text, expected) in [
        ("{\"a_time\": 5}", "{\"a_time\":5}\n"),
        ("{\"modified\": true}", "{\"modified\":true}\n"),
        ("{\"1\": 2, \"a\": 3}", "{\"1\":2,\"a\":3}\n"),
    ] {
        assert_eq!(ujson(text).as_deref(), Ok(expected));
    }
}
