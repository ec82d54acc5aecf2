//! Compares writing with pandas and Python (`tests/data/pandas/record_writer.py`).

use crate::mapped;
use crate::pandas_support;
use prep_formats::pandas::{
    ColumnSchema, ColumnType, CsvDialect, CsvWriter, LineEnding, Quoting, Schema, TextTable,
    push_f32, push_f64,
};
use prep_formats::printf::{PrintfArgument, PrintfFormat};
use serde_json::Value;

use mapped::MappedFile;
use pandas_support::lines;

/// Parses a hexadecimal float in the format of Python's `float.hex`.
fn hex(text: &str) -> f64 {
    let (sign, text) = text
        .strip_prefix('-')
        .map_or((1.0, text), |rest| (-1.0, rest));
    if text == "inf" {
        return sign * f64::INFINITY;
    }
    let (mantissa, exponent) = text.strip_prefix("0x").unwrap().split_once('p').unwrap();
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).unwrap();
    let mut exponent = exponent.parse::<i32>().unwrap() - 4 * fraction.len() as i32;
    let mut value = digits as f64;
    // 2^exponent may be too small for a double, so multiply in steps. Each step is exact, even for subnormal numbers.
    while exponent < 0 {
        let step = exponent.max(-1000);
        value *= 2f64.powi(step);
        exponent -= step;
    }
    sign * value * 2f64.powi(exponent)
}

/// Returns the text that `push` appends.
fn printed(push: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    push(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn numbers_are_formatted_as_in_python() {
    let mut failures = Vec::new();
    for case in lines("writer.jsonl") {
        let mut check = |form: &str, got: String| {
            if got != case[form].as_str().unwrap() {
                failures.push(format!("{form}: {got}, wanted {case}"));
            }
        };
        if let Some(value) = case["f64"].as_str().map(hex) {
            check("shortest", printed(|out| push_f64(out, value)));
            // The option `float_format` of `to_csv`. NaN is a missing cell.
            for (form, format) in [
                ("10g", "%.10g"),
                ("3g", "%.3g"),
                ("10f", "%.10f"),
                ("2f", "%.2f"),
                ("0f", "%.0f"),
            ] {
                let mut out = String::new();
                if !value.is_nan() {
                    let format = PrintfFormat::new(format).unwrap();
                    format
                        .push(&[PrintfArgument::Number(value)], &mut out)
                        .unwrap();
                }
                check(form, out);
            }
        } else if let Some(value) = case["f32"].as_str().map(hex) {
            check("shortest", printed(|out| push_f32(out, value as f32)));
        }
    }
    assert!(
        failures.is_empty(),
        "{} differ\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Returns the recorded tables with texts, and the format of each.
fn text_cases() -> impl Iterator<Item = (Value, CsvDialect)> {
    lines("writer.jsonl")
        .filter(|case| case["sep"].is_string())
        .map(|case| {
            let dialect = CsvDialect {
                delimiter: case["sep"].as_str().unwrap().as_bytes()[0],
                quoting: match case["quoting"].as_str().unwrap() {
                    "minimal" => Quoting::Minimal,
                    "all" => Quoting::All,
                    _ => Quoting::NonNumeric,
                },
                line_ending: match case["end"].as_str().unwrap() {
                    "\r\n" => LineEnding::CrLf,
                    _ => LineEnding::Lf,
                },
            };
            (case, dialect)
        })
}

#[test]
fn texts_are_quoted_as_in_pandas() {
    for (case, dialect) in text_cases() {
        let mut writer = CsvWriter::with_dialect(Vec::new(), dialect);
        // The texts of a table with one column, or of a table with four columns.
        let one = case["one"].as_array();
        let texts = one.or(case["texts"].as_array()).unwrap();
        let names = ["te;xt", "in,t", "f", "b"];
        writer
            .header(names.into_iter().take(if one.is_some() { 1 } else { 4 }))
            .unwrap();
        for (i, text) in texts.iter().map(Some).chain([None]).enumerate() {
            match text {
                Some(text) => writer.text(text.as_str().unwrap()),
                None => writer.missing(),
            }
            if one.is_none() {
                writer.integer(i);
                writer.f64(if text.is_some() { 0.5 } else { f64::NAN });
                writer.bool(text.is_some());
            }
            writer.end_row().unwrap();
        }
        let out = String::from_utf8(writer.finish().unwrap()).unwrap();
        assert_eq!(out, case["out"].as_str().unwrap(), "{dialect:?}");
    }
}

#[test]
fn canonical_cells_are_requoted_for_the_dialect() {
    for (case, dialect) in text_cases() {
        let Some(texts) = case["texts"].as_array() else {
            continue;
        };
        let mut writer = CsvWriter::with_dialect(Vec::new(), dialect);
        writer.header(["te;xt", "in,t", "f", "b"]).unwrap();
        for (i, text) in texts
            .iter()
            .map(|text| text.as_str().unwrap())
            .chain([""])
            .enumerate()
        {
            let last = i == texts.len();
            let cell = if text.contains([',', '"', '\n']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.to_owned()
            };
            writer.slice(cell.as_bytes(), ColumnType::Text);
            writer.slice(i.to_string().as_bytes(), ColumnType::Int64);
            writer.slice(if last { b"" } else { b"0.5" }, ColumnType::Float64);
            writer.slice(if last { b"False" } else { b"True" }, ColumnType::Bool);
            writer.end_row().unwrap();
        }
        let out = String::from_utf8(writer.finish().unwrap()).unwrap();
        assert_eq!(out, case["out"].as_str().unwrap(), "{dialect:?}");
    }
}

/// 0.0 and -0.0 are equal, but must be formatted differently, even if one follows the other.
#[test]
fn text_of_a_double_does_not_depend_on_the_previous_double() {
    let mut writer = CsvWriter::new(Vec::new());
    for value in [0.5, 0.5, f64::NAN, 0.5, 0.0, -0.0, -0.0, 0.0, 1e-5, 1e-5] {
        writer.f64(value);
    }
    writer.end_row().unwrap();
    let text = writer.finish().unwrap();
    assert_eq!(text, b"0.5,0.5,,0.5,0.0,-0.0,-0.0,0.0,1e-05,1e-05\n");
}

#[test]
fn recorded_row_offsets_equal_searched_offsets() {
    // The rows have many lengths, and contain quotes and line breaks. Together they are longer than the writer's
    // buffer.
    let mut out = tempfile::tempfile().unwrap();
    let mut writer = CsvWriter::new(&mut out).with_index();
    writer.header(["a", "b"]).unwrap();
    let cell = |row: usize| "x\"\n,y".repeat(row % 97 * (row % 7));
    for row in 0..3000 {
        writer.integer(row as u64);
        writer.text(&cell(row));
        writer.end_row().unwrap();
    }
    let index = writer.take_index().unwrap();
    writer.finish().unwrap();
    let column = |name: &str, kind| ColumnSchema {
        name: name.to_owned(),
        kind,
        nullable: true,
    };
    let schema = Schema {
        columns: vec![
            column("a", ColumnType::Int64),
            column("b", ColumnType::Text),
        ],
        rows: 3000,
    };
    let text = || MappedFile::new(&out);
    let recorded = TextTable::open(text(), schema.clone(), u64::MAX, Some(index)).unwrap();
    let searched = TextTable::open(text(), schema, u64::MAX, None).unwrap();
    for row in 0..3000 {
        assert_eq!(recorded.row(row).unwrap(), searched.row(row).unwrap());
        // A long row makes the table release its memory. The next row is loaded again.
        recorded.record_lookups(1, 1 << 20);
    }
    assert!(recorded.row(3000).is_err());
}
