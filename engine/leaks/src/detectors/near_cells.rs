//! `near`: finds test rows that equal a training row except for one or two cells, and have its answer.
//!
//! Unlike in `near_rows`, the differing cells may be texts, and may differ by any amount. Rows with few different
//! values are similar to many others. So a match requires that at most three training rows have the same remaining
//! cells.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Tests;
use super::facts::examples;
use super::rows::normal;
use crate::finding::{LeakFinding, LeakLevel};
use crate::model::{Prediction, gain};
use crate::view::View;

/// Minimum number of columns.
const MIN_COLUMNS: usize = 4;

/// Maximum number of columns with which two cells may differ.
const MAX_PAIRED_COLUMNS: usize = 16;

/// Maximum number of training rows with the same remaining cells.
const MAX_SAME: usize = 3;

/// Minimum number of test rows with a match.
const MIN_ROWS: usize = 15;

/// Minimum fraction of the remaining variance that the answers of these rows explain beyond the baseline.
const MIN_VARIANCE: f64 = 0.03;

/// Maximum number of training rows that are compared.
const MAX_TRAIN: usize = 200_000;

pub(super) fn find(view: &View<'_>, tests: &mut Tests) -> Option<LeakFinding> {
    let (label, targets) = view.targets().next()?;
    let train = view.world.train_table(label)?;
    let rows = targets.encode(train.column(&label.name)?)?;
    let (shown, key, items) = view.world.test_tables().next()?;
    let columns: Vec<(&[String], &[String])> = shown
        .table
        .names
        .iter()
        .enumerate()
        .filter(|(place, _)| *place != key)
        .filter_map(|(place, name)| {
            let own = shown.table.columns.get(place)?;
            Some((own.as_slice(), train.column(name)?))
        })
        .collect();
    if columns.len() < MIN_COLUMNS {
        return None;
    }
    let row_of: HashMap<usize, usize> = items
        .iter()
        .enumerate()
        .filter_map(|(row, item)| Some(((*item)?, row)))
        .collect();
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
    let count = near.iter().flatten().count();
    if count < MIN_ROWS {
        return None;
    }
    let prediction = Prediction {
        rows: near.iter().map(|row| rows.get((*row)?).cloned()).collect(),
    };
    let baseline = view.baseline(label, targets);
    let measured = gain(targets, baseline.prediction.as_ref(), &prediction);
    tests.record(measured.p);
    if measured.beyond < MIN_VARIANCE {
        return None;
    }
    let what = format!(
        "{count} of {} test rows equal a training row except for one or two cells, and its answer explains {:.0} % of the variance of `{}` that the intended features leave",
        view.chosen.len(),
        100.0 * measured.beyond,
        label.name
    );
    let named: Vec<String> = near
        .iter()
        .map(|row| row.map_or(String::new(), |row| format!("row {} of train", row + 1)))
        .collect();
    let cells: Vec<Option<&str>> = named
        .iter()
        .map(|one| Some(one.as_str()).filter(|one| !one.is_empty()))
        .collect();
    Some(
        LeakFinding::new(LeakLevel::Risk, "near", what)
            .evidence(examples(view, label, &cells))
            .p_value(measured.p),
    )
}

/// Returns a hash of each cell together with its column.
fn hashes<'a>(cells: impl Iterator<Item = Option<&'a String>>) -> Vec<u64> {
    cells
        .enumerate()
        .map(|(column, cell)| {
            let mut hasher = DefaultHasher::new();
            (column, normal(cell)).hash(&mut hasher);
            hasher.finish()
        })
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
