//! Tests that sorting gives the order of NumPy's introsort, even though the implementation uses faster algorithms where
//! possible.

use prep_formats::pandas::argsort;
use prep_formats::pandas::{CellValue, ColumnData, Frame, FrameColumn};
use prep_grade::table::sort::sort_positions;
use prep_grade::{Grader, Pair};
use proptest::collection::vec;
use proptest::prelude::*;

fn check(data: ColumnData, rows: usize, present: &[bool], less: impl Fn(u32, u32) -> bool + Copy) {
    let name = "id".to_owned();
    let columns = vec![FrameColumn { name, data }];
    let frame = Frame { columns, rows };
    let pair = Pair::new(&frame, &frame).unwrap();
    let order = sort_positions(&pair.answers.column("id").unwrap()).unwrap();
    let (mut expected, missing): (Vec<u32>, Vec<u32>) =
        (0..rows as u32).partition(|&row| present[row as usize]);
    argsort(&mut expected, less);
    expected.extend(missing);
    assert_eq!(order, expected);
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab\0]{0,18}",
        "(common-){0,3}[0-9]{0,3}\0{0,2}",
        "(identifier-of-a-row-)?[0-9a-f]{12}",
        "\\PC{0,6}",
    ]
}

proptest! {
    #[test]
    fn texts_have_numpys_order(cells in vec(prop::option::weighted(0.9, text()), 0..300), times in 1..4usize) {
        // Repeat the cells, so that the order of equal texts matters.
        let cells: Vec<Option<String>> = std::iter::repeat_n(cells, times).flatten().collect();
        let objects = cells.iter().map(|cell| match cell {
            Some(text) => CellValue::Text(text.as_str()),
            None => CellValue::Missing,
        });
        let present: Vec<bool> = cells.iter().map(Option::is_some).collect();
        check(ColumnData::Object(objects.collect()), cells.len(), &present, |a, b| {
            cells[a as usize] < cells[b as usize]
        });
    }

    #[test]
    fn doubles_have_numpys_order(
        values in vec(prop_oneof![any::<f64>(), (-3..3i8).prop_map(f64::from), Just(-0.0)], 0..300)
    ) {
        let present: Vec<bool> = values.iter().map(|value| !value.is_nan()).collect();
        check(ColumnData::Float64(values.iter().copied().collect()), values.len(), &present, |a, b| {
            values[a as usize] < values[b as usize]
        });
    }

    #[test]
    fn integers_have_numpys_order(values in vec(prop_oneof![any::<i64>(), -9..9i64], 0..300)) {
        let present = vec![true; values.len()];
        check(ColumnData::Int64(values.iter().copied().collect()), values.len(), &present, |a, b| {
            values[a as usize] < values[b as usize]
        });
        let unsigned: Vec<u64> = values.iter().map(|value| value.cast_unsigned()).collect();
        check(ColumnData::UInt64(unsigned.clone()), unsigned.len(), &present, |a, b| {
            unsigned[a as usize] < unsigned[b as usize]
        });
        let odd: Vec<bool> = values.iter().map(|value| value % 2 != 0).collect();
        check(ColumnData::Bool(odd.clone()), odd.len(), &present, |a, b| {
            !odd[a as usize] & odd[b as usize]
        });
    }
}

/// Grades a submission whose identifiers are `submitted` against answers with the identifiers `expected`. Each row of the
/// answers is labelled with its identifier, so the score shows which rows were paired.
fn align(expected: &[CellValue<'_>], submitted: &[CellValue<'_>]) -> Option<f64> {
    let frame = |cells: &[CellValue<'_>]| {
        let labels = cells.iter().map(|cell| cell.text().unwrap_or_default());
        let labels: Vec<String> = labels.map(|label| format!("label {label}")).collect();
        let labels = labels.iter().map(|label| CellValue::Text(label));
        let columns = [
            ("id", data(cells)),
            ("y", ColumnData::Object(labels.collect())),
        ];
        let columns = columns.map(|(name, data)| FrameColumn {
            name: name.to_owned(),
            data,
        });
        Frame {
            columns: columns.into(),
            rows: cells.len(),
        }
    };
    let section =
        serde_json::json!({ "rules": [{ "align": "id" }], "metric": { "accuracy": "y" } });
    let grader = Grader::parse(&section).unwrap();
    grader.grade(&frame(expected), &frame(submitted)).rounded()
}

fn data(cells: &[CellValue<'_>]) -> ColumnData {
    let integers = cells.iter().map(|cell| match cell {
        CellValue::Int(value) => Some(*value),
        _ => None,
    });
    let doubles = cells.iter().map(|cell| match cell {
        CellValue::Int(value) => Some(*value as f64),
        CellValue::Float(value) => Some(*value),
        CellValue::Missing => Some(f64::NAN),
        _ => None,
    });
    if let Some(values) = integers.collect() {
        return ColumnData::Int64(values);
    }
    match doubles.collect() {
        Some(values) => ColumnData::Float64(values),
        None => ColumnData::Object(cells.iter().copied().collect()),
    }
}

fn has_same_values(expected: &[CellValue<'_>], submitted: &[CellValue<'_>]) -> bool {
    let sorted = |cells: &[CellValue<'_>]| {
        let mut numbers = Vec::new();
        let mut texts = Vec::new();
        for cell in cells {
            match cell {
                CellValue::Int(value) => numbers.push(*value as f64),
                CellValue::Float(value) => numbers.push(*value),
                CellValue::Text(text) => texts.push((*text).to_owned()),
                _ => numbers.push(f64::NAN),
            }
        }
        numbers.sort_by(f64::total_cmp);
        texts.sort();
        (numbers, texts)
    };
    sorted(expected) == sorted(submitted)
}

fn identifiers() -> impl Strategy<Value = Vec<String>> {
    let of = |pattern: &'static str| vec(pattern, 1..40);
    prop_oneof![
        of("row-[0-9]{9}"),
        of("[ab]{2}"),
        of("a-long-prefix-[0-9a-f]{9}"),
        of("[0-9a-f]{12}"),
        of("[ab\0]{3}"),
        of("x[ab\0]{0,3}"),
        of("[1-9][0-9]{0,2}"),
        of("[0-9]\\.[0-9]"),
    ]
}

fn cells(texts: &[String]) -> Vec<CellValue<'_>> {
    let integers: Option<Vec<_>> = texts
        .iter()
        .map(|text| text.parse().ok().map(CellValue::Int))
        .collect();
    let doubles = || {
        texts
            .iter()
            .map(|text| text.parse().ok().map(CellValue::Float))
            .collect()
    };
    integers
        .or_else(doubles)
        .unwrap_or_else(|| texts.iter().map(|text| CellValue::Text(text)).collect())
}

proptest! {
    #[test]
    fn identifiers_are_accepted_if_both_tables_have_the_same(
        mut texts in identifiers(),
        seed in any::<u64>(),
        change in prop::option::of((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>())),
        repeats in any::<bool>(),
    ) {
        if !repeats {
            texts.sort();
            texts.dedup();
        }
        let mut submitted: Vec<(u64, String)> = texts.iter().enumerate().map(|(row, text)| {
            ((row as u64 + 1).wrapping_mul(seed | 1) ^ seed, text.clone())
        }).collect();
        submitted.sort();
        let mut submitted: Vec<String> = submitted.into_iter().map(|(_, text)| text).collect();
        if let Some((at, other, is_longer)) = change {
            let other = submitted[other.index(texts.len())].clone();
            let text = &mut submitted[at.index(texts.len())];
            match is_longer {
                true => text.push('\0'),
                false => *text = other,
            }
        }
        let (expected, submitted) = (cells(&texts), cells(&submitted));
        let score = align(&expected, &submitted);
        prop_assert_eq!(score.is_some(), has_same_values(&expected, &submitted));
        prop_assert!(score.is_none_or(|score| score == 1.0));
    }
}
