//! Lists of records compared with pandas' tables (see `tests/data/json/record_frames.py`).

use prep_formats::json::{
    Frame, Grammar, JsonElements, JsonLines, Line, Printed, Typing, Value, WriteOptions, parse,
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
    let lines = JsonLines::new(text.as_bytes()).with_grammar(Grammar::Ujson);
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
    let records: Result<Vec<Value>, _> = JsonElements::list(text.as_bytes()).values().collect();
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

/// Records that are printed without values: whether the table has them as they are, and as what they are printed.
fn printed(records: Vec<Option<Printed>>, typing: Typing) -> Option<(bool, Vec<Printed>)> {
    let records: Vec<Printed> = records.into_iter().collect::<Option<_>>()?;
    let mut frame = Frame::new(typing);
    for record in &records {
        frame.see_printed(record);
    }
    Some((frame.keeps_records(), records))
}

#[test]
fn records_that_are_kept_are_those_of_the_table() {
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
        let python = |value: &Value| value.to_json(&WriteOptions::default()).unwrap();
        // With the types of the table, record by record, by way of values.
        let (records, values, typing): (Vec<_>, Vec<_>, _) = match reader.as_str() {
            Some("ujson") => {
                let mut lines = JsonLines::new(text.as_bytes()).with_grammar(Grammar::Ujson);
                let mut records = Vec::new();
                while let Some(line) = lines.next_line() {
                    records.push(match line {
                        Ok(Line::Printed(record)) => Some(record),
                        _ => None,
                    });
                }
                let values = JsonLines::new(text.as_bytes()).with_grammar(Grammar::Ujson);
                (records, values.flatten().collect(), Typing::ReadJson)
            }
            _ => {
                let values = JsonElements::list(text.as_bytes()).values().flatten();
                let values: Vec<Value> = values.collect();
                let records = values.iter();
                let records = records.map(|value| Printed::of(&python(value), Grammar::Python));
                (records.collect(), values, Typing::DataFrame)
            }
        };
        let Some((is_kept, records)) = printed(records, typing) else {
            continue;
        };
        let Ok(rows) = rows(values.clone(), typing) else {
            continue;
        };
        let same = |(record, row): (&Printed, &Value)| record.text().as_bytes() == python(row);
        let is_same = records.iter().zip(&rows).all(same);
        // Both are what `pandas` prints where that is known.
        if is_kept {
            assert!(is_same, "{text}");
        }
        let mut frame = Frame::new(typing);
        for value in &values {
            frame.see(value).unwrap();
        }
        assert_eq!(frame.keeps_records(), is_kept, "{text}");
        if is_kept && expected.as_str().is_some() {
            kept += 1;
        }
        changed += u32::from(!is_same);
    }
    assert!(kept > 50 && changed > 50, "{kept} {changed}");
}

#[test]
fn what_pandas_would_change_by_name_is_refused() {
    let cases = [
        ("{\"created_at\": \"2020-01-01\"}", "created_at"),
        ("{\"date\": 1600000000, \"a\": 1}", "date"),
        ("{\"1\": 2, \"2.5\": 1}", "numbers or dates"),
        ("{\"\": 1}", "numbers or dates"),
        ("{}\n{}", "no record has a member"),
        (
            "{\"a\": 123456789012345678901}",
            "an integer beyond 64 bits",
        ),
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
