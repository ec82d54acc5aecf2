//! Two tables.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::Serialize;

use crate::table::Table;

/// Cells and ids that are shown; all are counted.
const SHOWN: usize = 1000;

/// A column with more values than this has no counts of them.
const MOST_VALUES: usize = 30;

/// What differs between two tables.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TableDifference {
    /// The column that names rows; none where no column does, and rows are only counted.
    pub key: Option<String>,
    pub rows: [usize; 2],
    pub columns_removed: Vec<String>,
    pub columns_added: Vec<String>,
    pub rows_removed: usize,
    pub rows_added: usize,
    /// Of each, the first.
    pub ids_removed: Vec<String>,
    pub ids_added: Vec<String>,
    /// Rows that both have come in another order.
    pub reordered: bool,
    pub cells_changed: usize,
    /// The first.
    pub cells: Vec<Cell>,
    /// How often each value occurs, of columns of few values where that changed.
    pub counts: Vec<Counts>,
}

/// A cell that changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    pub key: String,
    pub column: String,
    pub old: String,
    pub new: String,
}

/// How often values of a column occur, before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Counts {
    pub column: String,
    pub values: BTreeMap<String, [usize; 2]>,
}

impl TableDifference {
    pub fn is_empty(&self) -> bool {
        let columns = self.columns_removed.len() + self.columns_added.len();
        let rows = self.rows_removed + self.rows_added + self.cells_changed;
        columns + rows == 0 && !self.reordered
    }
}

/// Compares two tables.
pub fn tables(old: &Table, new: &Table) -> TableDifference {
    let names = |one: &Table, other: &Table| -> Vec<String> {
        let other: HashSet<&String> = other.names.iter().collect();
        let missing = one.names.iter().filter(|name| !other.contains(name));
        missing.cloned().collect()
    };
    let mut found = TableDifference {
        rows: [old.rows(), new.rows()],
        columns_removed: names(old, new),
        columns_added: names(new, old),
        counts: counts(old, new),
        ..TableDifference::default()
    };
    match key(old, new) {
        Some(key) => by_key(old, new, &key, &mut found),
        None => by_row(old, new, &mut found),
    }
    found
}

/// A column whose values are all different on both sides: of several the one with the most values in common, then the first.
fn key(old: &Table, new: &Table) -> Option<String> {
    let candidates = old.names.iter().enumerate().filter_map(|(place, name)| {
        let (a, b) = (old.column(name)?, new.column(name)?);
        let (first, second): (HashSet<&String>, HashSet<&String>) =
            (a.iter().collect(), b.iter().collect());
        let is_unique = first.len() == a.len() && second.len() == b.len() && !a.is_empty();
        let common = first.intersection(&second).count();
        is_unique.then_some((common, std::cmp::Reverse(place), name))
    });
    candidates.max().map(|(_, _, name)| name.clone())
}

fn by_key(old: &Table, new: &Table, key: &str, found: &mut TableDifference) {
    let (Some(before), Some(after)) = (old.column(key), new.column(key)) else {
        return;
    };
    found.key = Some(key.to_owned());
    let place_of: HashMap<&String, usize> =
        after.iter().enumerate().map(|(at, id)| (id, at)).collect();
    let ids: HashSet<&String> = before.iter().collect();
    let added: Vec<&String> = after.iter().filter(|id| !ids.contains(id)).collect();
    let removed: Vec<&String> = before
        .iter()
        .filter(|id| !place_of.contains_key(id))
        .collect();
    let shown = |ids: &[&String]| ids.iter().take(SHOWN).map(|id| (*id).clone()).collect();
    (found.rows_removed, found.rows_added) = (removed.len(), added.len());
    (found.ids_removed, found.ids_added) = (shown(&removed), shown(&added));
    let pairs: Vec<(usize, usize)> = before
        .iter()
        .enumerate()
        .filter_map(|(at, id)| Some((at, *place_of.get(id)?)))
        .collect();
    found.reordered = pairs.windows(2).any(|pair| match pair {
        [(_, one), (_, next)] => one > next,
        _ => false,
    });
    for name in old.names.iter().filter(|name| *name != key) {
        let (Some(a), Some(b)) = (old.column(name), new.column(name)) else {
            continue;
        };
        for (one, other) in &pairs {
            let (Some(a), Some(b), Some(id)) = (a.get(*one), b.get(*other), before.get(*one))
            else {
                continue;
            };
            if a == b {
                continue;
            }
            found.cells_changed += 1;
            if found.cells.len() < SHOWN {
                found.cells.push(Cell {
                    key: id.clone(),
                    column: name.clone(),
                    old: a.clone(),
                    new: b.clone(),
                });
            }
        }
    }
}

/// Without a key: which rows there are how often.
fn by_row(old: &Table, new: &Table, found: &mut TableDifference) {
    let common: Vec<&String> = old
        .names
        .iter()
        .filter(|name| new.column(name).is_some())
        .collect();
    let rows = |table: &Table| -> Vec<String> {
        let columns: Vec<&[String]> = common
            .iter()
            .filter_map(|name| table.column(name))
            .collect();
        let cell = |column: &&[String], row: usize| column.get(row).cloned().unwrap_or_default();
        let row =
            |row: usize| -> Vec<String> { columns.iter().map(|one| cell(one, row)).collect() };
        (0..table.rows()).map(|at| row(at).join("\u{1f}")).collect()
    };
    let (before, after) = (rows(old), rows(new));
    let mut balance: HashMap<&String, i64> = HashMap::new();
    for row in &before {
        *balance.entry(row).or_default() -= 1;
    }
    for row in &after {
        *balance.entry(row).or_default() += 1;
    }
    let sum = |sign: i64| -> usize {
        let counts = balance.values().map(|count| count * sign);
        let positive = counts.filter(|count| *count > 0);
        positive
            .map(|count| usize::try_from(count).unwrap_or(0))
            .sum()
    };
    (found.rows_removed, found.rows_added) = (sum(-1), sum(1));
    found.reordered = found.rows_removed + found.rows_added == 0 && before != after;
}

fn counts(old: &Table, new: &Table) -> Vec<Counts> {
    let mut all = Vec::new();
    for name in &old.names {
        let (Some(a), Some(b)) = (old.column(name), new.column(name)) else {
            continue;
        };
        let different: BTreeSet<&String> = a.iter().chain(b).take(100_000).collect();
        if different.len() > MOST_VALUES || different.len() * 2 > a.len() + b.len() {
            continue;
        }
        let mut values: BTreeMap<String, [usize; 2]> = BTreeMap::new();
        for value in a {
            let [before, _] = values.entry(value.clone()).or_default();
            *before += 1;
        }
        for value in b {
            let [_, after] = values.entry(value.clone()).or_default();
            *after += 1;
        }
        if values.values().any(|[before, after]| before != after) {
            let column = name.clone();
            all.push(Counts { column, values });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        Table::of_csv(text, ',')
    }

    #[test]
    fn rows_are_paired_by_their_key_and_cells_compared() {
        let old = table("id,x,label\n1,a,cat\n2,b,dog\n3,c,dog\n4,d,dog\n5,e,cat\n");
        let new = table("id,label,y\n3,dog,1\n2,cat,1\n5,cat,1\n4,dog,1\n9,cat,1\n");
        let found = tables(&old, &new);
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
    fn without_a_key_rows_are_counted() {
        let old = table("a,b\n1,1\n1,1\n2,2\n2,3\n");
        let found = tables(&old, &table("a,b\n1,1\n2,2\n2,2\n2,3\n"));
        assert_eq!(found.key, None);
        assert_eq!((found.rows_removed, found.rows_added), (1, 1));
        let found = tables(&old, &table("a,b\n2,3\n1,1\n2,2\n1,1\n"));
        assert_eq!(
            (found.rows_removed, found.rows_added, found.reordered),
            (0, 0, true)
        );
        assert!(tables(&old, &old).is_empty());
    }
}
