//! Stored tables: cells, Arrow columns and gathered rows.

use crate::pandas_support;
use arrow::array::AsArray;
use arrow::datatypes::{Float64Type, Int64Type, UInt64Type};
use prep_formats::pandas::{
    ColumnSchema, ColumnType, CsvError, GatherOptions, ReadOptions, RowSelection, Schema,
    TextTable, cell_content, gather, normalise,
};
use proptest::prelude::*;

use pandas_support::{lines, scan_in_chunks};

/// Opens the canonical text of a raw file.
fn table(raw: &str) -> Result<TextTable, CsvError> {
    let options = ReadOptions::default();
    let scan = scan_in_chunks(raw.as_bytes(), &options, 1000)?;
    let mut text = Vec::new();
    normalise(raw.as_bytes(), &scan, &options, &mut text)?;
    TextTable::from_bytes(text, scan.schema)
}

/// A query may compute empty texts, although its schema declares that the column has no missing cells.
#[test]
fn empty_text_is_missing_even_if_not_nullable() {
    let column = ColumnSchema {
        name: "t".to_owned(),
        kind: ColumnType::Text,
        nullable: false,
    };
    let schema = Schema {
        columns: vec![column],
        rows: 2,
    };
    let table = TextTable::from_bytes(b"t\n\"\"\na\n".to_vec(), schema).unwrap();
    let mut batches = table.read_batches(&[0], RowSelection::All, 9).unwrap();
    let batch = batches.next().unwrap().unwrap();
    let texts: Vec<_> = batch.column(0).as_string::<i32>().iter().collect();
    assert_eq!(texts, [None, Some("a")]);
}

#[test]
fn columns_are_converted_to_arrow_arrays() {
    let raw = "i,u,f,b,t\n1,18446744073709551615,.5,true,\"a,\"\"b\"\"\"\n-2,7,,FALSE,\n3,0,-inf,,\"c\rd\"\n";
    let table = table(raw).unwrap();
    let columns = [4, 0, 1, 2, 3, 0];
    let batches = table
        .read_batches(&columns, RowSelection::Rows(vec![2, 0, 1, 0].into()), 3)
        .unwrap();
    let batches: Vec<_> = batches.map(Result::unwrap).collect();
    assert_eq!(
        batches
            .iter()
            .map(|batch| batch.num_rows())
            .collect::<Vec<_>>(),
        [3, 1]
    );
    let batch = &batches[0];
    let texts: Vec<_> = batch.column(0).as_string::<i32>().iter().collect();
    assert_eq!(texts, [Some("c\rd"), Some("a,\"b\""), None]);
    assert_eq!(
        batch.column(1).as_primitive::<Int64Type>().values()[..],
        [3, 1, -2]
    );
    assert_eq!(
        batch.column(2).as_primitive::<UInt64Type>().values()[..],
        [0, u64::MAX, 7]
    );
    let floats: Vec<_> = batch
        .column(3)
        .as_primitive::<Float64Type>()
        .iter()
        .collect();
    assert_eq!(floats, [Some(f64::NEG_INFINITY), Some(0.5), None]);
    let bools: Vec<_> = batch.column(4).as_boolean().iter().collect();
    assert_eq!(bools, [None, Some(true), Some(false)]);
    assert_eq!(batch.column(5), batch.column(1));
    assert!(matches!(
        table.read_batches(&[5], RowSelection::All, 1),
        Err(CsvError::NoSuchColumn { .. })
    ));
    let mut beyond = table
        .read_batches(&[0], RowSelection::Range(0..9), 100)
        .unwrap();
    assert!(matches!(
        beyond.next(),
        Some(Err(CsvError::NoSuchRow { .. }))
    ));
    assert!(beyond.next().is_none());
}

#[test]
fn large_integers_are_exact() {
    let table =
        table("u,i,b\n18446744073709551615,-9223372036854775808,true\n9007199254740993,5,false\n")
            .unwrap();
    let batch = table
        .read_batches(&[0, 1, 2], RowSelection::All, 10)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(
        batch.column(0).as_primitive::<UInt64Type>().values()[..],
        [u64::MAX, 9_007_199_254_740_993]
    );
    assert_eq!(
        batch.column(1).as_primitive::<Int64Type>().values()[..],
        [i64::MIN, 5]
    );
    assert!(batch.column(2).as_boolean().value(0));
}

#[test]
fn texts_that_contradict_their_schema_are_errors() {
    let schema = table("a\n1\n2\n").unwrap().schema().clone();
    for text in ["a\n1\n", "a\n1\n2", "a\n1\n\"2\n", "", "a\n1\n2\n3\n"] {
        let opened = TextTable::from_bytes(text.as_bytes().to_vec(), schema.clone());
        assert!(
            matches!(opened, Err(CsvError::NotCanonical { .. })),
            "{text:?}"
        );
    }
    let wrong = TextTable::from_bytes(b"a\n1\nx\n".to_vec(), schema).unwrap();
    let batch = wrong
        .read_batches(&[0], RowSelection::All, 10)
        .unwrap()
        .next()
        .unwrap();
    assert!(matches!(batch, Err(CsvError::NotCanonical { row: 2, .. })));
}

#[test]
fn cells_equal_those_of_recorded_tables() {
    let mut seen = 0;
    for case in lines("random.jsonl").chain(lines("tables.jsonl")) {
        let (Some(raw), true) = (case["in"].as_str(), case["options"].is_null()) else {
            continue;
        };
        let Ok(table) = table(raw) else { continue };
        let width = table.schema().columns.len();
        for row in 0..table.schema().rows {
            assert_eq!(table.cells(row).unwrap().count(), width.max(1), "{raw:?}");
            seen += 1;
        }
        let order: Vec<u64> = (0..table.schema().rows).rev().collect();
        let mut out = table.header().to_vec();
        let all: Vec<usize> = (0..width).collect();
        let scratch = std::env::temp_dir();
        gather(
            &table,
            (0..order.len() as u64).collect::<Vec<_>>(),
            &all,
            &mut out,
            &GatherOptions::new(&scratch),
        )
        .unwrap();
        if width > 0 {
            assert_eq!(out, case["out"].as_str().unwrap().as_bytes());
        }
    }
    assert!(seen > 3000);
}

proptest! {
    #[test]
    fn gathering_in_buckets_equals_gathering_directly(
        cells in prop::collection::vec(("[a-c\",\r\n ]{0,6}", -99i64..99), 1..60),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..90),
        columns in prop::collection::vec(0usize..2, 1..4),
        budget in 1usize..200,
    ) {
        let mut raw = String::from("t,i\n");
        for (text, number) in &cells {
            raw.push_str(&format!("\"{}\",{number}\n", text.replace('"', "\"\"")));
        }
        let table = table(&raw).unwrap();
        let order: Vec<u64> = picks.iter().map(|pick| pick.index(cells.len()) as u64).collect();
        let directory = tempfile::tempdir().unwrap();
        let (mut direct, mut bucketed) = (Vec::new(), Vec::new());
        let large = GatherOptions { budget: usize::MAX, scratch: directory.path() };
        let small = GatherOptions { budget, scratch: directory.path() };
        gather(&table, order.clone(), &columns, &mut direct, &large).unwrap();
        gather(&table, order.clone(), &columns, &mut bucketed, &small).unwrap();
        prop_assert_eq!(&direct, &bucketed);
        let mut expected = Vec::new();
        for row in &order {
            let row: Vec<_> = table.cells(*row).unwrap().collect();
            let line: Vec<String> = columns.iter().map(|c| String::from_utf8(row[*c].to_vec()).unwrap()).collect();
            let line = line.join(",");
            expected.extend_from_slice(if line.is_empty() { "\"\"" } else { &line }.as_bytes());
            expected.push(b'\n');
        }
        prop_assert_eq!(direct, expected);
        for (row, (text, _)) in (0u64..).zip(&cells) {
            let cell = table.cells(row).unwrap().next().unwrap();
            let content = cell_content(cell).map(|c| String::from_utf8(c.into_owned()).unwrap());
            prop_assert_eq!(content.unwrap_or_default(), text.as_str());
        }
    }
}
