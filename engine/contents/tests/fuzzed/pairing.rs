//! Splits arbitrary bytes into two tables. Each row of both tables must be counted once: in a pair, or without a pair.

use std::io::Write;

use prep_contents::pairing::{ColumnComparison, Keys, RowDifferences, RowPair, pair_rows};
use prep_contents::table::CsvTable;
use prep_contents::{DecodingLimits, TableReader};

struct Count(u64);

impl RowDifferences for Count {
    fn pair(&mut self, pair: &RowPair<'_>) -> bool {
        self.0 += 1;
        pair.there != pair.here
    }
}

pub fn check(data: &[u8]) {
    let (theirs, ours) = data.split_at(data.len() / 2);
    let open = |bytes: &[u8]| {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(bytes).expect("written");
        let table = CsvTable::open(file.path(), b',', &DecodingLimits::default()).ok()?;
        Some((table, file))
    };
    let (Some((theirs, _one)), Some((ours, _other))) = (open(theirs), open(ours)) else {
        return;
    };
    let columns = ColumnComparison::compare(&theirs, &ours).expect("columns");
    let common = columns.common.len();
    assert_eq!(common + columns.missing.len(), ours.columns().len());
    let of_index = usize::from(columns.index.is_some());
    assert_eq!(
        common + columns.added.len() + of_index,
        theirs.columns().len()
    );
    for strict in [false, true] {
        let keys = Keys {
            known: &|name| name == "id",
            never: &|name| name == "label",
            strict,
            examples: 3,
        };
        let found = pair_rows(&theirs, &ours, &columns.common, &keys, || Count(0));
        let found = found.expect("pairs");
        let [there, here] = found.rows;
        if found.equal {
            assert_eq!(there, here);
            continue;
        }
        let alone = found.added.count + found.repeated.count;
        if alone + found.missing.count > 0 {
            assert_eq!(found.pairs + alone, there);
            assert_eq!(found.pairs + found.missing.count, here);
        } else {
            assert_eq!(there, here);
        }
        assert!(found.differences.0 <= there.min(here));
    }
}
