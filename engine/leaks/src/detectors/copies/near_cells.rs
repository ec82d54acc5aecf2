//! `near`: finds test rows that equal a training row except for one or two cells, and have its answer.
//!
//! Unlike in `near_rows`, the differing cells may be texts, and may differ by any amount. Rows with few different
//! values are similar to many others. So a match requires that at most three training rows have the same remaining
//! cells.

use std::collections::HashMap;

use super::near_rows;
use super::rows::normal;
use crate::cells::Cells;
use crate::finding::LeakFinding;
use crate::statistics::{Tests, hash_of};
use crate::view::View;
use crate::world::rows_of_items;

/// Minimum number of columns.
const MIN_COLUMNS: usize = 4;

/// Maximum number of columns with which two cells may differ.
const MAX_PAIRED_COLUMNS: usize = 16;

/// Maximum number of training rows with the same remaining cells.
const MAX_SAME: usize = 3;

/// Maximum number of training rows that are compared.
const MAX_TRAIN: usize = 200_000;

pub(crate) fn find(view: &View<'_>, tests: &mut Tests) -> Option<LeakFinding> {
    let (label, _) = view.targets().next()?;
    let train = view.world.train_table(label)?;
    let (shown, key, items) = view.world.test_tables().next()?;
    let columns = shown.table.shared_columns(key, train);
    let columns: Vec<(&Cells, &Cells)> = columns.map(|(_, own, other)| (own, other)).collect();
    if columns.len() < MIN_COLUMNS {
        return None;
    }
    let row_of = rows_of_items(items);
    // By omitted cells and hash of the remaining cells: the test rows.
    let mut left: HashMap<(u32, u64), Vec<usize>> = HashMap::new();
    for (place, item) in view.chosen.iter().enumerate() {
        let Some(row) = row_of.get(item) else {
            continue;
        };
        let cells = hashes(columns.iter().map(|(own, _)| own.get(*row)));
        without_some(&cells, &mut |omitted, rest| {
            left.entry((omitted, rest)).or_default().push(place);
        });
    }
    let mut matches: HashMap<(u32, u64), Vec<usize>> = HashMap::new();
    for row in 0..train.rows().min(MAX_TRAIN) {
        let cells = hashes(columns.iter().map(|(_, other)| other.get(row)));
        without_some(&cells, &mut |omitted, rest| {
            if left.contains_key(&(omitted, rest)) {
                let rows = matches.entry((omitted, rest)).or_default();
                if rows.len() <= MAX_SAME {
                    rows.push(row);
                }
            }
        });
    }
    let mut near: Vec<Option<usize>> = vec![None; view.chosen.len()];
    let mut places: Vec<(&(u32, u64), &Vec<usize>)> = left.iter().collect();
    places.sort();
    for (what, places) in places {
        let Some(rows) = matches.get(what).filter(|rows| rows.len() <= MAX_SAME) else {
            continue;
        };
        for place in places {
            if let Some(near) = near.get_mut(*place) {
                *near = near.or(rows.first().copied());
            }
        }
    }
    let how = "equal a training row except for one or two cells";
    near_rows::finding(view, &near, how, tests)
}

/// Returns a hash of each cell together with its column.
fn hashes<'a>(cells: impl Iterator<Item = Option<&'a str>>) -> Vec<u64> {
    cells
        .enumerate()
        .map(|(column, cell)| hash_of(&(column, normal(cell))))
        .collect()
}

/// Calls `visit` for each omitted cell, and for each pair of omitted cells if there are few columns. Its arguments
/// identify the omitted cells and hash the remaining ones.
fn without_some(cells: &[u64], visit: &mut dyn FnMut(u32, u64)) {
    let sum = cells.iter().fold(0_u64, |sum, one| sum.wrapping_add(*one));
    for ((place, one), number) in cells.iter().enumerate().zip(0_u32..) {
        let rest = sum.wrapping_sub(*one);
        visit(number, rest);
        // With four columns, two remaining cells are too few to compare.
        if cells.len() <= MAX_PAIRED_COLUMNS && cells.len() > MIN_COLUMNS + 1 {
            let others = cells.get(place + 1..).unwrap_or_default().iter();
            for (other, offset) in others.zip(1_u32..) {
                visit(number + 1000 * (number + offset), rest.wrapping_sub(*other));
            }
        }
    }
}
