//! Tests that sorting gives the order of NumPy's introsort, even though the implementation uses faster algorithms where
//! possible.

use prep_formats::pandas::argsort;
use prep_formats::pandas::{CellValue, ColumnData, Frame, FrameColumn};
use prep_grade::Pair;
use prep_grade::table::sort::sort_positions;
use proptest::collection::vec;
use proptest::prelude::*;

/// Compares the order of a column's rows with the order that introsort gives for the rows with a value.
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

/// Generates texts with common prefixes, short texts, and texts that differ only in zero bytes.
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
    fn texts(cells in vec(prop::option::weighted(0.9, text()), 0..300), times in 1..4usize) {
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
    fn doubles(values in vec(prop_oneof![any::<f64>(), (-3..3i8).prop_map(f64::from), Just(-0.0)], 0..300)) {
        let present: Vec<bool> = values.iter().map(|value| !value.is_nan()).collect();
        check(ColumnData::Float64(values.iter().copied().collect()), values.len(), &present, |a, b| {
            values[a as usize] < values[b as usize]
        });
    }

    #[test]
    fn integers(values in vec(prop_oneof![any::<i64>(), -9..9i64], 0..300)) {
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
