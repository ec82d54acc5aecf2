//! Reads arbitrary bytes as a table of each format. The table must be read or rejected, each time with the same result.

use std::io::Write;

use prep_contents::table::DetectedFile;
use prep_contents::{DecodingLimits, Format, Row};

const FORMATS: [Format; 7] = [
    Format::Csv(b','),
    Format::Lines,
    Format::JsonLines,
    Format::Json,
    Format::Bson,
    Format::Parquet,
    Format::Array,
];

pub fn check(data: &[u8]) {
    let limits = DecodingLimits {
        record: 4 << 20,
        ..DecodingLimits::default()
    };
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(data).expect("written");
    for format in FORMATS {
        let Ok(opened) = DetectedFile::open(file.path(), format, &limits) else {
            continue;
        };
        let (first, second) = (count(&opened), count(&opened));
        assert_eq!(first, second, "{format:?}");
    }
}

/// Returns the number of readable rows, and a hash of their cells.
fn count(opened: &DetectedFile) -> (u64, u128) {
    let table = opened.table();
    let (mut rows, mut sum, mut row) = (0, 0_u128, Row::default());
    let places: Vec<usize> = (0..table.columns().len()).collect();
    let Ok(mut reader) = table.rows() else {
        return (0, 0);
    };
    while reader.next(&mut row).unwrap_or(false) {
        rows += 1;
        sum = sum.wrapping_mul(3).wrapping_add(row.hash(&places));
    }
    (rows, sum)
}
