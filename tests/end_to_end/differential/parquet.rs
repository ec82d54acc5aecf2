//! Parquet files with missing cells. `record_parquet.py` recorded what pandas reads and writes.

use std::fs;

use super::install;
use crate::support::{Archive, Sandbox};

const FILES: [(&str, &[u8], &str); 2] = [
    (
        "counted",
        include_bytes!("parquet/counted.parquet"),
        include_str!("parquet/counted.csv"),
    ),
    (
        "not_counted",
        include_bytes!("parquet/not_counted.parquet"),
        include_str!("parquet/not_counted.csv"),
    ),
];

/// Columns of integers with missing cells become doubles, whether or not the footer states how many cells are missing.
#[test]
fn columns_with_missing_cells_are_printed_like_those_of_pandas() {
    for (name, content, expected) in FILES {
        let sandbox = Sandbox::new();
        let pipeline = "tables:\n  t: { read: t.parquet, columns: [id, small] }\npublic:\n  \
                        all.csv: SELECT * FROM t\n  some.csv: SELECT * FROM t WHERE small IS NULL OR id IS NOT NULL\n";
        install(&sandbox, "frame", &[], pipeline);
        let bundle = Archive::new().file("t.parquet", content);
        sandbox.bundle("frame", &bundle.bytes());
        sandbox.run_and_count_steps("frame");
        for output in ["all.csv", "some.csv"] {
            let path = sandbox.prepared("frame").join("public").join(output);
            assert_eq!(
                fs::read_to_string(path).expect("the output"),
                expected,
                "{name}: {output}"
            );
        }
    }
}
