//! Arbitrary bytes are read as a table or rejected. The batches have at most the declared number of rows in total.

use prep_formats::limits::DecodingLimits;
use prep_formats::parquet::ParquetTable;

pub fn check(data: &[u8]) {
    let limits = DecodingLimits {
        record: 1 << 20,
        unpacked: 1 << 24,
        ..DecodingLimits::default()
    };
    let Ok(table) = ParquetTable::open(data.to_vec(), 0..data.len() as u64, &limits) else {
        return;
    };
    let Ok(batches) = table.batches(None, None, 1024) else {
        return;
    };
    let mut rows = 0;
    for batch in batches.take(100) {
        let Ok(batch) = batch else {
            return;
        };
        rows += batch.num_rows() as u64;
    }
    assert!(rows <= table.rows());
}
