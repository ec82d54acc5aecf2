//! Compares reading with tables recorded from pandas 2.2.3 (`tests/data/pandas/record.py`).

use crate::pandas_support;
use std::collections::BTreeMap;

use prep_formats::pandas::{
    CellValue, ColumnData, ColumnType, FloatParser, Frame, ReadOptions, RewriteResult, normalise,
    push_bool, push_f64, push_integer, read_frame,
};
use serde_json::Value;

use pandas_support::{canonical_text, lines, scan_in_chunks};

struct Case {
    raw: Vec<u8>,
    options: ReadOptions,
    /// The recorded line, with pandas' results.
    expected: Value,
}

fn kind(name: &str) -> ColumnType {
    match name {
        "int64" => ColumnType::Int64,
        "int32" => ColumnType::Int32,
        "int16" => ColumnType::Int16,
        "int8" => ColumnType::Int8,
        "float32" => ColumnType::Float32,
        "float64" => ColumnType::Float64,
        other => panic!("unknown dtype {other}"),
    }
}

fn cases(name: &str) -> Vec<Case> {
    let case = |expected: Value| {
        let raw = match (&expected["in"], &expected["hex"]) {
            (Value::String(text), _) => text.as_bytes().to_vec(),
            (_, Value::String(hex)) => (0..hex.len() / 2)
                .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
                .collect(),
            _ => panic!("a case without input: {expected}"),
        };
        let mut options = ReadOptions::default();
        let given = &expected["options"];
        if let Some(sep) = given["sep"].as_str() {
            options.delimiter = sep.as_bytes()[0];
        }
        if given["fast"] == true {
            options.floats = FloatParser::Fast;
        }
        options.header = given["header"] != false;
        match &given["text"] {
            Value::String(_) => options.all_text = true,
            Value::Array(names) => {
                options.text = names
                    .iter()
                    .map(|n| n.as_str().unwrap().to_owned())
                    .collect()
            }
            _ => {}
        }
        if let Some(types) = given["types"].as_object() {
            options.types = types
                .iter()
                .map(|(n, k)| (n.clone(), kind(k.as_str().unwrap())))
                .collect();
        }
        Case {
            raw,
            options,
            expected,
        }
    };
    lines(name).map(case).collect()
}

fn print_cell(out: &mut Vec<u8>, cell: CellValue<'_>) {
    match cell {
        CellValue::Missing => {}
        CellValue::Bool(value) => push_bool(out, value),
        CellValue::Int(value) => push_integer(out, value),
        CellValue::UInt(value) => push_integer(out, value),
        CellValue::Float(value) => push_f64(out, value),
        CellValue::Text(value) => out.extend_from_slice(value.as_bytes()),
    }
}

fn print_text(out: &mut Vec<u8>, text: &[u8]) {
    let text = String::from_utf8(text.to_vec()).unwrap();
    if text.contains([',', '"', '\n']) {
        out.extend_from_slice(format!("\"{}\"", text.replace('"', "\"\"")).as_bytes());
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

/// A deliberately simple writer, so that an error in the real writer cannot hide an error in the reader.
fn print_frame(frame: &Frame) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, column) in frame.columns.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        print_text(&mut out, column.name.as_bytes());
    }
    out.push(b'\n');
    for row in 0..frame.rows {
        let start = out.len();
        for (i, column) in frame.columns.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            let mut cell = Vec::new();
            match &column.data {
                ColumnData::Int64(data) => push_integer(&mut cell, data.get(row).unwrap()),
                ColumnData::UInt64(data) => push_integer(&mut cell, data[row]),
                ColumnData::Float64(data) => push_f64(&mut cell, data.get(row).unwrap()),
                ColumnData::Bool(data) => push_bool(&mut cell, data[row]),
                ColumnData::Object(data) => print_cell(&mut cell, data.get(row).unwrap()),
            }
            print_text(&mut out, &cell);
        }
        if out.len() == start && frame.columns.len() == 1 {
            out.extend_from_slice(b"\"\"");
        }
        out.push(b'\n');
    }
    out
}

fn dtype(data: &ColumnData) -> &'static str {
    match data {
        ColumnData::Int64(_) => "int64",
        ColumnData::UInt64(_) => "uint64",
        ColumnData::Float64(_) => "float64",
        ColumnData::Bool(_) => "bool",
        ColumnData::Object(_) => "object",
    }
}

/// Returns `1` if a cell of the column is missing, otherwise `0`.
fn gap(data: &ColumnData) -> char {
    let gap = match data {
        ColumnData::Float64(data) => data.iter().any(|v| v.is_nan()),
        ColumnData::Object(data) => data.contains(CellValue::Missing),
        _ => false,
    };
    if gap { '1' } else { '0' }
}

/// Compares all ways of reading a file with pandas. Returns the first difference as an error.
fn check(case: &Case) -> Result<(), String> {
    let expected = &case.expected;
    let frame = read_frame(&case.raw, &case.options);
    let mut scans = Vec::new();
    for chunk in [1, 2, 3, 7, 64, usize::MAX] {
        scans.push(scan_in_chunks(&case.raw, &case.options, chunk));
    }
    if expected["error"].is_string() {
        return match (frame, scans.iter().all(Result::is_err)) {
            (Err(_), true) => Ok(()),
            (Ok(frame), _) => Err(format!("should be an error, got {frame:?}")),
            _ => Err("an error in some chunks only".into()),
        };
    }
    let out = expected["out"].as_str().unwrap();
    let frame = frame.map_err(|error| prep_failure::chain(&error))?;
    // A float32 is stored as a double of the same value, which `print_frame` prints with more digits than pandas. So only
    // the texts of `normalise` and `canonical_text` can be compared.
    let narrow = case
        .options
        .types
        .values()
        .any(|kind| *kind == ColumnType::Float32);
    if !narrow && print_frame(&frame) != out.as_bytes() {
        return Err(format!(
            "frame {:?}, wanted {out:?}",
            String::from_utf8_lossy(&print_frame(&frame))
        ));
    }
    if frame.rows as u64 != expected["rows"].as_u64().unwrap() {
        return Err(format!("{} rows", frame.rows));
    }
    if case.options.types.is_empty() {
        let dtypes: Vec<&str> = frame.columns.iter().map(|c| dtype(&c.data)).collect();
        if dtypes.join(" ") != expected["dtypes"].as_str().unwrap() {
            return Err(format!("dtypes {dtypes:?}, wanted {}", expected["dtypes"]));
        }
        let gaps: String = frame.columns.iter().map(|c| gap(&c.data)).collect();
        if gaps != expected["gaps"].as_str().unwrap() {
            return Err(format!("gaps {gaps}, wanted {}", expected["gaps"]));
        }
    }
    for scan in scans {
        let scan = scan.map_err(|error| prep_failure::chain(&error))?;
        let nullable: String = scan
            .schema
            .columns
            .iter()
            .map(|c| if c.nullable { '1' } else { '0' })
            .collect();
        if nullable != expected["gaps"].as_str().unwrap() {
            return Err(format!("nullable {nullable}, wanted {}", expected["gaps"]));
        }
        let mut printed = Vec::new();
        normalise(case.raw.as_slice(), &scan, &case.options, &mut printed)
            .map_err(|error| prep_failure::chain(&error))?;
        if printed != out.as_bytes() {
            return Err(format!(
                "normalised {:?}, wanted {out:?}",
                String::from_utf8_lossy(&printed)
            ));
        }
    }
    for chunk in [1, 7, usize::MAX] {
        let (printed, rewritten) = canonical_text(&case.raw, &case.options, chunk)
            .map_err(|error| prep_failure::chain(&error))?;
        if printed != out.as_bytes() {
            return Err(format!(
                "rewritten {:?}, wanted {out:?}",
                String::from_utf8_lossy(&printed)
            ));
        }
        let is_canonical = matches!(rewritten, RewriteResult::Canonical(_));
        if case.raw == out.as_bytes() && !is_canonical {
            return Err(format!("not canonical: {rewritten:?}"));
        }
    }
    Ok(())
}

fn check_all(name: &str) {
    let cases = cases(name);
    assert!(cases.len() > 1000);
    let mut failures = BTreeMap::new();
    for (i, case) in cases.iter().enumerate() {
        if let Err(error) = check(case) {
            failures.insert(
                i,
                format!(
                    "{:?} {}: {error}",
                    String::from_utf8_lossy(&case.raw),
                    case.expected["options"]
                ),
            );
        }
    }
    let shown: Vec<&str> = failures.values().map(String::as_str).take(40).collect();
    assert!(
        failures.is_empty(),
        "{} of {} differ\n{}",
        failures.len(),
        cases.len(),
        shown.join("\n")
    );
}

#[test]
fn tables_equal_those_of_pandas() {
    check_all("tables.jsonl");
}

#[test]
fn random_text_is_read_as_in_pandas() {
    check_all("random.jsonl");
}

#[test]
fn columns_with_requested_text_type_do_not_affect_other_columns() {
    check_all("text.jsonl");
}

#[test]
fn parsed_doubles_equal_those_of_pandas() {
    let mut failures = Vec::new();
    for line in lines("floats.jsonl") {
        let text = line[0].as_str().unwrap();
        for (parser, expected) in [
            (FloatParser::RoundTrip, &line[1]),
            (FloatParser::Fast, &line[2]),
        ] {
            let options = ReadOptions {
                floats: parser,
                ..ReadOptions::default()
            };
            let frame = read_frame(format!("x\n0.5\n{text}\n").as_bytes(), &options).unwrap();
            let mut printed = Vec::new();
            match &frame.columns[0].data {
                ColumnData::Float64(data) => push_f64(&mut printed, data.get(1).unwrap()),
                _ => printed.extend_from_slice(b"text"),
            }
            if printed != expected.as_str().unwrap_or("text").as_bytes() {
                failures.push(format!(
                    "{text} {parser:?}: {}, wanted {expected}",
                    String::from_utf8_lossy(&printed)
                ));
            }
        }
    }
    let shown = failures
        .iter()
        .take(30)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(failures.is_empty(), "{} differ\n{shown}", failures.len());
}
