//! Finds the common columns of two tables.

use std::collections::{HashMap, VecDeque};

use crate::Result;
use crate::table::{Row, TableReader};

/// Two columns with different names are treated as one renamed column if they have equal values in this number of rows
/// at the start of both tables.
const MAX_SAMPLED_ROWS: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommonColumn {
    /// Name in `ours`.
    pub name: String,
    /// Index of the column in `theirs` (`there`) and in `ours` (`here`).
    pub there: usize,
    pub here: usize,
}

/// A column with row numbers, which pandas wrote into `theirs`. `ours` has no such column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexColumn {
    pub name: String,
    /// Whether the values of the column are 0, 1, 2 and so on.
    pub counts: bool,
}

#[derive(Debug, Clone, Default)]
pub struct ColumnComparison {
    /// Columns of both tables, in the order of `ours`.
    pub common: Vec<CommonColumn>,
    pub index: Option<IndexColumn>,
    /// Columns with equal values but different names: name in `theirs`, name in `ours`.
    pub renamed: Vec<(String, String)>,
    /// Columns only of `ours`.
    pub missing: Vec<String>,
    /// Columns only of `theirs`.
    pub added: Vec<String>,
    /// Whether the common columns have a different order in `theirs`.
    pub reordered: bool,
}

impl ColumnComparison {
    pub fn compare(theirs: &dyn TableReader, ours: &dyn TableReader) -> Result<ColumnComparison> {
        let (there, here) = (unique(theirs.columns()), unique(ours.columns()));
        let mut common = Vec::new();
        let mut missing = Vec::new();
        let places: HashMap<&String, usize> = there.iter().zip(0..).collect();
        for (place, name) in here.iter().enumerate() {
            match places.get(name) {
                Some(other) => common.push(CommonColumn {
                    name: name.clone(),
                    there: *other,
                    here: place,
                }),
                None => missing.push(place),
            }
        }
        let mut is_common = vec![false; there.len()];
        for column in &common {
            if let Some(known) = is_common.get_mut(column.there) {
                *known = true;
            }
        }
        let mut added: Vec<usize> = (0..there.len())
            .filter(|place| is_common.get(*place) == Some(&false))
            .collect();
        let name_of = |place: usize| there.get(place).cloned().unwrap_or_default();
        let mut index = None;
        let found = added.iter().position(|place| is_index(&name_of(*place)));
        // A comma at the end of every row also creates a column without a name. Only an index column contains integers.
        let has_numbers = match found.and_then(|found| added.get(found)) {
            Some(place) => has_integers(theirs, *place)?,
            None => false,
        };
        if let Some(found) = found.filter(|_| has_numbers) {
            let place = added.remove(found);
            index = Some(IndexColumn {
                name: name_of(place),
                counts: counts_rows(theirs, place)?,
            });
        }
        // A renamed column is neither missing nor added.
        let mut renamed = Vec::new();
        let mut gone = Vec::new();
        let mut by_values = ColumnsByValues::default();
        if !missing.is_empty() && !added.is_empty() {
            for (place, values) in added.iter().zip(values(theirs, &added)?) {
                if let Some(values) = values {
                    by_values.entry(values).or_default().push_back(*place);
                }
            }
        }
        let mut found = vec![None; missing.len()];
        if !by_values.is_empty() {
            for (values, found) in values(ours, &missing)?.into_iter().zip(&mut found) {
                let same = values.and_then(|values| by_values.get_mut(&values));
                *found = same.and_then(VecDeque::pop_front);
            }
        }
        let mut is_added = vec![false; there.len()];
        for place in &added {
            if let Some(added) = is_added.get_mut(*place) {
                *added = true;
            }
        }
        for (place, found) in missing.into_iter().zip(found) {
            let name = here.get(place).cloned().unwrap_or_default();
            let Some(other) = found else {
                gone.push(name);
                continue;
            };
            if let Some(added) = is_added.get_mut(other) {
                *added = false;
            }
            renamed.push((name_of(other), name.clone()));
            common.push(CommonColumn {
                name,
                there: other,
                here: place,
            });
        }
        added.retain(|place| is_added.get(*place) == Some(&true));
        common.sort_by_key(|column| column.here);
        let reordered = common
            .windows(2)
            .any(|pair| matches!(pair, [one, next] if one.there > next.there));
        Ok(ColumnComparison {
            common,
            index,
            renamed,
            missing: gone,
            added: added.into_iter().map(name_of).collect(),
            reordered,
        })
    }
}

/// Returns whether a name is one that pandas gives to a column with row numbers.
fn is_index(name: &str) -> bool {
    name.is_empty()
        || name.starts_with("Unnamed: ")
        || name == "index"
        || name == "__index_level_0__"
}

/// Appends a number to repeated names, like pandas.
fn unique(names: &[String]) -> Vec<String> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let number = |name| {
        let count = seen.entry(name).or_default();
        *count += 1;
        match *count {
            1 => name.to_owned(),
            count => format!("{name}.{}", count - 1),
        }
    };
    names.iter().map(String::as_str).map(number).collect()
}

fn has_integers(table: &dyn TableReader, place: usize) -> Result<bool> {
    let (mut rows, mut row) = (table.rows()?, Row::default());
    while rows.next(&mut row)? {
        let cell = row.cell(place);
        if cell.is_empty() || !cell.iter().all(u8::is_ascii_digit) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns whether the values of a column are 0, 1, 2 and so on.
fn counts_rows(table: &dyn TableReader, place: usize) -> Result<bool> {
    let (mut rows, mut row) = (table.rows()?, Row::default());
    let mut number = 0;
    while rows.next(&mut row)? {
        if row.cell(place) != number.to_string().as_bytes() {
            return Ok(false);
        }
        number += 1;
    }
    Ok(true)
}

/// Column indices by the hash of the column's first values.
type ColumnsByValues = HashMap<blake3::Hash, VecDeque<usize>>;

/// Hashes the first [`MAX_SAMPLED_ROWS`] values of each column. The hash is `None` if these values are all equal.
fn values(table: &dyn TableReader, places: &[usize]) -> Result<Vec<Option<blake3::Hash>>> {
    let mut columns: Vec<(blake3::Hasher, Vec<u8>, bool)> = Vec::with_capacity(places.len());
    let (mut rows, mut row) = (table.rows()?, Row::default());
    for number in 0..MAX_SAMPLED_ROWS {
        if !rows.next(&mut row)? {
            break;
        }
        if number == 0 {
            let first = |place: &usize| (blake3::Hasher::new(), row.cell(*place).to_vec(), false);
            columns.extend(places.iter().map(first));
        }
        for (place, (hasher, first, varied)) in places.iter().zip(&mut columns) {
            let cell = row.cell(*place);
            hasher.update(&(cell.len() as u64).to_le_bytes());
            hasher.update(cell);
            *varied |= first.as_slice() != cell;
        }
    }
    let mut found: Vec<_> = columns
        .into_iter()
        .map(|(hasher, _, varied)| varied.then(|| hasher.finalize()))
        .collect();
    // A table without rows has no hashes.
    found.resize(places.len(), None);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::DecodingLimits;
    use crate::table::CsvTable;

    fn columns(theirs: &str, ours: &str) -> ColumnComparison {
        let table = |text: &str| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), text).unwrap();
            let table = CsvTable::open(file.path(), b',', &DecodingLimits::default()).unwrap();
            (table, file)
        };
        let ((theirs, _one), (ours, _other)) = (table(theirs), table(ours));
        ColumnComparison::compare(&theirs, &ours).unwrap()
    }

    #[test]
    fn columns_with_equal_values_are_treated_as_renamed() {
        let found = columns(
            "id,b,d,e\n1,x,7,0\n2,y,8,0\n",
            "id,a,c,f\n1,x,7,0\n2,y,9,0\n",
        );
        assert_eq!(found.renamed, [("b".to_owned(), "a".to_owned())]);
        // One distinct value is not enough to detect a renaming.
        assert_eq!(
            (found.missing, found.added),
            (
                vec!["c".to_owned(), "f".to_owned()],
                vec!["d".to_owned(), "e".to_owned()]
            )
        );
    }

    /// Each table must be read once, not once for each pair of columns.
    #[test]
    fn finding_renamed_columns_takes_linear_time() {
        let header = |letter: char| -> String {
            let names: Vec<String> = (0..3000).map(|place| format!("{letter}{place}")).collect();
            names.join(",")
        };
        let row = |first: u32| -> String {
            let cells: Vec<String> = (first..first + 3000).map(|cell| cell.to_string()).collect();
            cells.join(",")
        };
        let table = |letter, first| {
            let rows = [header(letter), row(first), row(first + 1), row(first + 2)];
            rows.join("\n")
        };
        let begin = Instant::now();
        let found = columns(&table('a', 0), &table('b', 1));
        assert_eq!((found.renamed.len(), found.missing.len()), (2999, 1));
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
}
