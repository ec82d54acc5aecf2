//! Compares two tables.

use std::collections::BTreeMap;
use std::path::Path;

use prep_contents::pairing::{
    ColumnComparison, CommonColumn, Keys, RowDifferences, RowPair, pair_rows,
};
use prep_contents::table::{DetectedFile, unquoted};
use prep_contents::{DecodingLimits, Format, Result, Row, TableReader};
use serde::Serialize;

/// Limits of each list of changed cells or ids: the number of elements, and the total bytes of the listed cells.
/// Further differences are only counted.
const MAX_LISTED: usize = 1000;
const MAX_LISTED_BYTES: usize = 16 << 20;

/// The values of a column are counted ([`Counts`]) only if both tables together have at most this number of different
/// values.
const MAX_COUNTED_VALUES: usize = 30;

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TableDifference {
    /// The column that identifies rows. If no column does, this is `None`, and added and removed rows are only counted.
    pub key: Option<String>,
    pub rows: [u64; 2],
    pub columns_removed: Vec<String>,
    pub columns_added: Vec<String>,
    /// Columns that were renamed, but have equal values: old name, new name.
    pub columns_renamed: Vec<(String, String)>,
    pub rows_removed: u64,
    pub rows_added: u64,
    /// The ids of the first removed rows.
    pub ids_removed: Vec<String>,
    pub ids_added: Vec<String>,
    /// Whether the rows that both tables contain are in a different order.
    pub reordered: bool,
    pub cells_changed: u64,
    pub cells: Vec<ChangedCell>,
    /// Columns with few distinct values, if the number of rows with one of these values differs between the tables.
    pub counts: Vec<Counts>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangedCell {
    pub key: String,
    pub column: String,
    pub old: String,
    pub new: String,
}

/// The number of rows with each value of a column, in the old and the new table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Counts {
    pub column: String,
    pub values: BTreeMap<String, [u64; 2]>,
}

impl TableDifference {
    pub fn is_empty(&self) -> bool {
        let columns = [
            self.columns_removed.len(),
            self.columns_added.len(),
            self.columns_renamed.len(),
        ];
        let rows = self.rows_removed + self.rows_added + self.cells_changed;
        columns == [0; 3] && rows == 0 && !self.reordered
    }
}

/// Compares two tables in the format `format`.
pub fn tables(
    old: &Path,
    new: &Path,
    format: Format,
    limits: &DecodingLimits,
) -> Result<TableDifference> {
    let old = DetectedFile::open(old, format, limits)?;
    let new = DetectedFile::open(new, format, limits)?;
    compare(old.table(), new.table())
}

fn compare(old: &dyn TableReader, new: &dyn TableReader) -> Result<TableDifference> {
    // `prep-contents` calls the two tables `theirs` and `ours`. Here, `theirs` is the new table, so rows that it does not
    // contain were removed.
    let columns = ColumnComparison::compare(new, old)?;
    let keys = Keys {
        known: &|_| false,
        never: &|_| false,
        strict: true,
        examples: MAX_LISTED,
    };
    let cells = || CellDifferences {
        columns: &columns.common,
        changed: 0,
        first: Vec::new(),
        bytes: 0,
    };
    let paired = pair_rows(new, old, &columns.common, &keys, cells)?;
    let [after, before] = paired.rows;
    let mut added = columns.added.clone();
    added.extend(columns.index.iter().map(|index| index.name.clone()));
    let ids = |rows: &[Row], column: fn(&CommonColumn) -> usize| -> Vec<String> {
        let Some(key) = &paired.key else {
            return Vec::new();
        };
        let ids = rows.iter().map(|row| format_cell(row.cell(column(key))));
        ids.collect()
    };
    // Rows that the new table has more often than the old one (`repeated`) are also reported as added.
    let mut new_rows = paired.added.examples.clone();
    new_rows.extend(paired.repeated.examples.clone());
    Ok(TableDifference {
        rows: [before, after],
        columns_removed: columns.missing.clone(),
        columns_added: added,
        columns_renamed: columns
            .renamed
            .iter()
            .map(|(new, old)| (old.clone(), new.clone()))
            .collect(),
        rows_removed: paired.missing.count,
        rows_added: paired.added.count + paired.repeated.count,
        ids_removed: ids(&paired.missing.examples, |key| key.here),
        ids_added: ids(&new_rows, |key| key.there),
        reordered: paired.reordered > 0,
        cells_changed: paired.differences.changed,
        counts: counts(old, new, &columns.common)?,
        cells: paired.differences.first,
        key: paired.key.map(|key| key.name),
    })
}

fn format_cell(cell: &[u8]) -> String {
    unquoted(cell).into_owned()
}

/// Counts the cells in which paired rows differ, and lists the first of them.
struct CellDifferences<'a> {
    columns: &'a [CommonColumn],
    changed: u64,
    first: Vec<ChangedCell>,
    /// Total length of the texts in `first`.
    bytes: usize,
}

impl RowDifferences for CellDifferences<'_> {
    fn pair(&mut self, pair: &RowPair<'_>) -> bool {
        for column in self.columns {
            let (new, old) = (pair.theirs.cell(column.there), pair.ours.cell(column.here));
            if old == new {
                continue;
            }
            self.changed += 1;
            if self.first.len() < MAX_LISTED && self.bytes < MAX_LISTED_BYTES {
                let key = match pair.key {
                    Some(key) => format_cell(pair.ours.cell(key.here)),
                    None => format!("row {}", pair.here + 1),
                };
                let cell = ChangedCell {
                    key,
                    column: column.name.clone(),
                    old: String::from_utf8_lossy(old).into_owned(),
                    new: String::from_utf8_lossy(new).into_owned(),
                };
                self.bytes += [&cell.key, &cell.column, &cell.old, &cell.new]
                    .map(String::len)
                    .iter()
                    .sum::<usize>();
                self.first.push(cell);
            }
        }
        true
    }
}

/// Counts the values of those common columns that have few distinct values. Returns the columns whose counts differ.
fn counts(
    old: &dyn TableReader,
    new: &dyn TableReader,
    columns: &[CommonColumn],
) -> Result<Vec<Counts>> {
    let mut all: Vec<Option<BTreeMap<Vec<u8>, [u64; 2]>>> =
        columns.iter().map(|_| Some(BTreeMap::new())).collect();
    let mut rows = 0;
    for (side, table) in [old, new].into_iter().enumerate() {
        let (mut reader, mut row) = (table.rows()?, Row::default());
        while reader.next(&mut row)? {
            rows += 1;
            for (column, values) in columns.iter().zip(&mut all) {
                let index = if side == 0 { column.here } else { column.there };
                let Some(counted) = values else { continue };
                let cell = row.cell(index);
                if !counted.contains_key(cell) {
                    counted.insert(cell.to_vec(), [0; 2]);
                }
                if let Some(count) = counted.get_mut(cell).and_then(|both| both.get_mut(side)) {
                    *count += 1;
                }
                if counted.len() > MAX_COUNTED_VALUES {
                    *values = None;
                }
            }
        }
    }
    let changed_counts = columns.iter().zip(all).filter_map(|(column, values)| {
        // Counts are of no use if almost every row has its own value. `rows` counts the rows of both tables.
        let values = values.filter(|values| values.len() * 2 <= rows)?;
        let changed = values.values().any(|[before, after]| before != after);
        let text = |cell: Vec<u8>| String::from_utf8_lossy(&cell).into_owned();
        changed.then(|| Counts {
            column: column.name.clone(),
            values: values
                .into_iter()
                .map(|(cell, counts)| (text(cell), counts))
                .collect(),
        })
    });
    Ok(changed_counts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(old: &str, new: &str) -> TableDifference {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let format = Format::Csv(b',');
        let limits = DecodingLimits::default();
        tables(&write("a", old), &write("b", new), format, &limits).unwrap()
    }

    #[test]
    fn rows_are_paired_by_key_and_cells_are_compared() {
        let found = compare(
            "id,x,label\n1,a,cat\n2,b,dog\n3,c,dog\n4,d,dog\n5,e,cat\n",
            "id,label,y\n3,dog,1\n2,cat,1\n5,cat,1\n4,dog,1\n9,cat,1\n",
        );
        assert_eq!(found.key.as_deref(), Some("id"));
        assert_eq!((found.rows_removed, found.rows_added), (1, 1));
        assert_eq!(found.ids_removed, ["1"]);
        assert_eq!(found.ids_added, ["9"]);
        assert_eq!(found.columns_removed, ["x"]);
        assert_eq!(found.columns_added, ["y"]);
        assert!(found.reordered);
        assert_eq!(found.cells_changed, 1);
        assert_eq!(found.cells[0].key, "2");
        assert_eq!(
            (found.cells[0].old.as_str(), found.cells[0].new.as_str()),
            ("dog", "cat")
        );
        assert_eq!(found.counts.len(), 1);
        assert_eq!(found.counts[0].values["cat"], [2, 3]);
    }

    #[test]
    fn rows_without_a_key_are_counted() {
        let old = "a,b\n1,1\n1,1\n2,2\n2,3\n";
        let found = compare(old, "a,b\n1,1\n2,2\n2,3\n2,3\n1,1\n");
        assert_eq!(found.key, None);
        assert_eq!((found.rows_removed, found.rows_added), (0, 1));
        // If no row was added or removed, rows are paired by position.
        let found = compare(old, "a,b\n1,1\n2,1\n2,2\n2,3\n");
        assert_eq!(
            (found.cells_changed, found.cells[0].key.as_str()),
            (1, "row 2")
        );
        let found = compare(old, "a,b\n2,3\n1,1\n2,2\n1,1\n");
        assert_eq!(
            (found.rows_removed, found.rows_added, found.reordered),
            (0, 0, true)
        );
        assert!(compare(old, old).is_empty());
    }
}
