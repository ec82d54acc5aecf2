//! Functions, operators and clauses return the values that DuckDB and PostgreSQL returned.
//!
//! `recorded/cases.txt` lists the cases, and `recorded/record.py` records the values. A case can state a reason why `prep`
//! returns another value. `UPDATE=1` records this value.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use prep_formats::json::{JsonValue, WriteOptions, parse};
use prep_spec::model::Query;
use prep_sql::{QueryLimits, RowForm, Session};

use crate::support::{Tables, table, used};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).expect(name)
}

struct Case {
    query: String,
    options: BTreeMap<String, String>,
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in read("tests/recorded/cases.txt").lines() {
        if let Some((key, text)) = line
            .strip_prefix("  ")
            .and_then(|line| line.split_once(": "))
        {
            let case = cases.last_mut().expect("a query before its options");
            case.options.insert(key.to_owned(), text.to_owned());
        } else if !line.is_empty() && !line.starts_with('#') {
            cases.push(Case {
                query: line.to_owned(),
                options: BTreeMap::new(),
            });
        }
    }
    cases
}

/// Converts a cell to a number. JSON has no literals for infinities and NaN, so they are strings.
fn number(value: &JsonValue) -> Option<f64> {
    match value {
        JsonValue::Int(value) => Some(*value as f64),
        JsonValue::Float(value) => Some(*value),
        JsonValue::BigInt(digits) => digits.parse().ok(),
        _ => match value.as_str()? {
            "nan" => Some(f64::NAN),
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            _ => None,
        },
    }
}

fn column(kind: &str, cells: &[JsonValue]) -> ArrayRef {
    let cells = cells.iter();
    match kind {
        "text" => Arc::new(cells.map(JsonValue::as_str).collect::<StringArray>()),
        "double" => Arc::new(cells.map(number).collect::<Float64Array>()),
        "boolean" => {
            let booleans = cells.map(|cell| match cell {
                JsonValue::Bool(value) => Some(*value),
                _ => None,
            });
            Arc::new(booleans.collect::<BooleanArray>())
        }
        _ => {
            let integers = cells.map(|cell| match cell {
                JsonValue::Int(value) => Some(*value),
                _ => None,
            });
            Arc::new(integers.collect::<Int64Array>())
        }
    }
}

fn tables() -> Tables {
    let parsed = parse(read("tests/recorded/tables.json").as_bytes()).expect("tables.json");
    let tables = parsed.as_object().expect("an object").iter();
    let tables = tables.map(|(name, columns)| {
        let columns = columns.as_object().expect("columns").iter();
        let columns: Vec<(String, ArrayRef)> = columns
            .map(|(name, column_of)| {
                let [kind, cells] = column_of.as_list().expect("a type and cells") else {
                    panic!("a type and cells");
                };
                let cells = cells.as_list().expect("cells");
                let array = column(kind.as_str().expect("a type"), cells);
                (name.to_string_lossy().into_owned(), array)
            })
            .collect();
        let columns = columns
            .iter()
            .map(|(name, array)| (name.as_str(), array.clone()));
        (
            name.to_string_lossy().into_owned(),
            table(columns.collect()),
        )
    });
    tables.collect()
}

/// Returns the query of a case. `table: expression` selects the expression for all rows of the table.
fn expanded(query: &str, tables: &Tables) -> String {
    match query.split_once(": ") {
        Some((name, expression)) if tables.contains_key(name) => {
            format!("SELECT {expression} AS v FROM {name} ORDER BY id")
        }
        _ if query.starts_with("SELECT ") || query.starts_with("WITH ") => query.to_owned(),
        _ => format!("SELECT {query} AS v"),
    }
}

fn cell(array: &ArrayRef, row: usize) -> JsonValue {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return JsonValue::Null;
    }
    match array.data_type() {
        DataType::Boolean => JsonValue::Bool(array.as_boolean().value(row)),
        DataType::Int64 => JsonValue::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => {
            let value = array.as_primitive::<Float64Type>().value(row);
            let text = match value {
                f64::INFINITY => "inf",
                f64::NEG_INFINITY => "-inf",
                value if value.to_bits() == f64::NAN.to_bits() => "nan",
                value if value.is_nan() => "another NaN",
                _ => return JsonValue::Float(value),
            };
            text.into()
        }
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::Utf8View => array.as_string_view().value(row).into(),
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            JsonValue::List((0..items.len()).map(|item| cell(&items, item)).collect())
        }
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        other => format!("a result of type {other}").as_str().into(),
    }
}

async fn outcome(query: &str, tables: &Tables) -> Result<JsonValue, String> {
    let query = Query::parse(&expanded(query, tables))?;
    let session = Session::new(&std::env::temp_dir());
    let limits = QueryLimits::with_memory(256 << 20);
    let rows = session.start(&query, used(&query, tables), RowForm::Values, &limits);
    let mut rows = rows.map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    while let Some(batch) = rows.next().await.map_err(|error| error.to_string())? {
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter().map(|column| cell(column, row));
            found.push(JsonValue::List(cells.collect()));
        }
    }
    Ok(JsonValue::List(found))
}

/// Returns whether two values are equal. Doubles may differ by `ulps` units in the last place.
fn same(found: &JsonValue, expected: &JsonValue, ulps: u64) -> bool {
    match (found, expected) {
        (JsonValue::List(found), JsonValue::List(expected)) => {
            let mut pairs = found.iter().zip(expected);
            found.len() == expected.len() && pairs.all(|(a, b)| same(a, b, ulps))
        }
        (JsonValue::Float(_), _) | (_, JsonValue::Float(_)) => {
            let (Some(a), Some(b)) = (number(found), number(expected)) else {
                return false;
            };
            a.to_bits() == b.to_bits()
                || (a.is_sign_negative() == b.is_sign_negative()
                    && a.to_bits().abs_diff(b.to_bits()) <= ulps)
        }
        _ => found == expected,
    }
}

fn text(value: &JsonValue) -> String {
    let bytes = value.to_json(&WriteOptions::default()).expect("JSON");
    String::from_utf8(bytes).expect("UTF-8")
}

/// Compares the rows of each case with the recorded rows. `needs_lowering` selects either the cases that have the option
/// `lowering` in cases.txt, or all others.
async fn compare(needs_lowering: bool) {
    let (tables, update) = (tables(), std::env::var_os("UPDATE").is_some());
    let recorded = read("tests/recorded/expected.jsonl");
    let mut lines: Vec<String> = recorded.lines().map(str::to_owned).collect();
    let cases = cases();
    assert_eq!(cases.len(), lines.len(), "run record.py");
    let mut failed = String::new();
    for (case, line) in cases.iter().zip(&mut lines) {
        let mut record = parse(line.as_bytes()).expect("a line of expected.jsonl");
        let query = record.get("query").and_then(JsonValue::as_str);
        assert_eq!(query, Some(case.query.as_str()), "run record.py");
        if case.options.contains_key("lowering") != needs_lowering {
            continue;
        }
        let found = outcome(&case.query, &tables).await;
        let ulps = case
            .options
            .get("ulps")
            .map_or(0, |ulps| ulps.parse().expect("ulps"));
        let rows = record.get("rows");
        let is_equal = matches!((&found, rows), (Ok(found), Some(rows)) if same(found, rows, ulps));
        let found = found.unwrap_or_else(|error| error.as_str().into());
        let reason = case.options.get("differs");
        let expected = match (reason, record.get("ours")) {
            (None, _) => rows,
            (Some(_), ours) => ours,
        };
        let is_expected = match reason {
            None => is_equal,
            Some(_) => !is_equal && expected == Some(&found),
        };
        if update && reason.is_some() && !is_equal {
            if let JsonValue::Object(object) = &mut record {
                object.insert("ours".into(), found);
                *line = text(&record);
            }
        } else if !is_expected {
            let expected = expected.map(text).unwrap_or_default();
            let _ = writeln!(
                failed,
                "{}\n  found:    {}\n  expected: {expected}",
                case.query,
                text(&found)
            );
        }
    }
    if update {
        std::fs::write(
            path("tests/recorded/expected.jsonl"),
            lines.join("\n") + "\n",
        )
        .expect("written");
    }
    assert!(failed.is_empty(), "{failed}");
}

#[tokio::test]
async fn results_are_those_of_other_engines() {
    compare(false).await;
}

#[tokio::test]
async fn comparisons_of_doubles_are_those_of_other_engines() {
    compare(true).await;
}

fn functions() -> Vec<String> {
    let list = read("src/functions/list.txt");
    let lines = list.lines().filter_map(|line| {
        let (kind, rest) = line.split_once(" | ")?;
        let (names, _) = rest.split_once(" | ")?;
        let name = names.split(" = ").next()?.to_owned();
        kind.chars().all(char::is_alphabetic).then_some(name)
    });
    lines.collect()
}

#[test]
fn every_function_has_a_recorded_result() {
    let cases = cases();
    let functions = functions();
    assert!(functions.len() > 100);
    for name in functions {
        let call = format!("{name}(");
        let is_called = cases.iter().any(|case| {
            let mut calls = case.query.match_indices(&call);
            calls.any(|(start, _)| {
                let before = case.query[..start].chars().next_back();
                before.is_none_or(|before| !before.is_alphanumeric() && before != '_')
            })
        });
        assert!(
            is_called,
            "no case of tests/recorded/cases.txt calls {name}()"
        );
    }
}
