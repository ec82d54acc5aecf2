//! Compares files with more than one block of rows with pandas' output, by MD5 (`tests/data/pandas/record_writer.py`).

use crate::pandas_support;
use md5::{Digest, Md5};
use prep_formats::pandas::{CsvError, ReadOptions, RewriteResult, normalise, read_frame};
use serde_json::Value;

use pandas_support::{canonical_text, lines, scan_in_chunks};

/// Builds the raw file of a case by the rule of `record_writer.py`.
fn raw(case: &Value) -> String {
    let rows = case["rows"].as_u64().unwrap() as usize;
    if case["long"].is_array() {
        let has = |name: &str, i: usize| case[name].as_array().unwrap().contains(&Value::from(i));
        let line = |i| match (has("long", i), has("short", i)) {
            (true, _) => "4,5,6\n",
            (_, true) => "3\n",
            _ => "1,2\n",
        };
        return std::iter::once("a,b\n")
            .chain((0..rows).map(line))
            .collect();
    }
    let columns = case["columns"].as_u64().unwrap() as usize;
    let pattern = case["pattern"].as_array().unwrap();
    let size = (rows - 11) / (pattern.len() - 1);
    let mut text = "a,b,c,d,e,f,g,h,i"[..2 * columns - 1].to_owned() + "\n";
    for i in 0..rows {
        let cells = pattern[i / size].as_array().unwrap();
        text.push_str(cells[i % cells.len()].as_str().unwrap());
        text.push_str(&format!(",{}", i % 7).repeat(columns - 1));
        text.push('\n');
    }
    text
}

#[test]
fn block_types_are_combined_as_in_pandas() {
    let options = ReadOptions::default();
    let mut failures = Vec::new();
    for case in lines("blocks.jsonl") {
        let raw = raw(&case);
        let scan = match scan_in_chunks(raw.as_bytes(), &options, 100_003) {
            Ok(scan) if case["error"].is_null() => scan,
            Err(_) if case["error"] == true => continue,
            other => {
                failures.push(format!("{case}: {other:?}"));
                continue;
            }
        };
        let mut printed = Vec::new();
        normalise(raw.as_bytes(), &scan, &options, &mut printed).unwrap();
        let md5 = prep_formats::hex::encode(&Md5::digest(&printed));
        let (text, rewritten) = canonical_text(raw.as_bytes(), &options, 100_003).unwrap();
        let is_canonical = matches!(rewritten, RewriteResult::Canonical(_));
        // If the raw file is already canonical, the first pass must recognise this. A second pass would be useless.
        let is_second_pass_justified = is_canonical || printed != raw.as_bytes();
        if md5 != case["md5"].as_str().unwrap() || text != printed || !is_second_pass_justified {
            failures.push(format!("{case}: {rewritten:?}"));
        }
    }
    assert!(
        failures.is_empty(),
        "{} differ\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Reads a file of 100 KB that would become a table of 500 million cells.
#[test]
fn number_of_missing_fields_in_short_rows_is_limited() {
    let text =
        |columns: usize, rows: usize| format!("a{}\n{}", ",".repeat(columns), "1\n".repeat(rows));
    let options = ReadOptions::default();
    let frame = read_frame(text(1000, 1000).as_bytes(), &options).unwrap();
    assert_eq!((frame.columns.len(), frame.rows), (1001, 1000));
    for (columns, rows) in [(20_000, 25_000), (200_000, 400)] {
        let refused = read_frame(text(columns, rows).as_bytes(), &options);
        assert!(matches!(refused, Err(CsvError::TooManyMissing { .. })));
    }
    let refused = read_frame(text(2 << 20, 1).as_bytes(), &options);
    assert!(matches!(
        refused,
        Err(CsvError::TooManyColumns { row: 0, .. })
    ));
}
