//! Measures how much of a mapped table stays in memory while its rows are read.
#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod mapped;

use std::fs::{self, File};
use std::io::Write;

use mapped::MappedFile;
use prep_formats::pandas::{ColumnSchema, ColumnType, RowSelection, Schema, TextTable};

const ROWS: u64 = 400_000;
const BATCH: usize = 8192;

/// Creates a table of [`ROWS`] rows with 100 bytes each.
fn file() -> (File, Schema) {
    let mut file = tempfile::tempfile().unwrap();
    let rows = (0..ROWS).map(|row| format!("{row:0>99}\n"));
    let text = format!("a\n{}", rows.collect::<String>());
    file.write_all(text.as_bytes()).unwrap();
    let column = ColumnSchema {
        name: "a".to_owned(),
        kind: ColumnType::Text,
        nullable: false,
    };
    let columns = vec![column];
    (
        file,
        Schema {
            columns,
            rows: ROWS,
        },
    )
}

/// Returns the number of bytes of a table's text that are in the memory of this process.
fn resident(table: &TextTable) -> u64 {
    let wanted = table.text().as_ptr() as u64;
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let mut lines = maps.lines();
    let address = |text| u64::from_str_radix(text, 16).ok();
    lines
        .find(|line| {
            let range = line
                .split(' ')
                .next()
                .and_then(|range| range.split_once('-'));
            range.is_some_and(|(from, to)| {
                address(from).is_some_and(|from| from <= wanted)
                    && address(to).is_some_and(|to| wanted < to)
            })
        })
        .unwrap();
    let size = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
    let kilobytes: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
    kilobytes << 10
}

#[test]
fn sequential_reading_releases_memory() {
    let (file, schema) = file();
    let table = TextTable::open(MappedFile::new(&file), schema, u64::MAX, None).unwrap();
    let rows: Vec<u64> = (0..ROWS).filter(|row| row % 10 != 3).collect();
    let batches = table.read_batches(&[0], RowSelection::Rows(rows.into()), BATCH);
    for batch in batches.unwrap() {
        assert!(batch.unwrap().num_rows() <= BATCH);
        let found = resident(&table);
        assert!(found < 4 << 20, "{found}");
    }
}

#[test]
fn random_lookups_keep_memory_up_to_the_limit() {
    let (_, schema) = file();
    let all = 100 * schema.rows;
    for (room, rows, stays) in [
        (all + 2, u64::MAX, true),
        (all / 2, 1, true),
        // Each lookup may have loaded a large page.
        (all / 2, 100, false),
    ] {
        let (file, schema) = file();
        let table = TextTable::open(MappedFile::new(&file), schema, room, None).unwrap();
        // Reads all rows in random order.
        let mut texts = (0..ROWS).map(|row| table.row(row * 7919 % ROWS).unwrap());
        assert!(texts.all(|row| row.starts_with(b"0")));
        assert!(resident(&table) > all * 9 / 10);
        table.record_lookups(rows, 100);
        let found = resident(&table);
        assert_eq!(found > all * 9 / 10, stays, "{found}");
        assert_eq!(found < all / 10, !stays, "{found}");
    }
}
