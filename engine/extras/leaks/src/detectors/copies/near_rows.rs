//! `near`: finds rows of numbers that are almost equal to a training row and have its answer.
//!
//! Only numeric columns with many different values are compared, each in units of its standard deviation. A test row is
//! near if the distance to its nearest training row is at most a quarter of the distance to the twentieth, and at most
//! 5 % of the typical distance to the nearest row. Rows can be near by chance, but then the answers of their neighbours
//! add nothing to the baseline. So the detector reports the variance that these answers explain beyond the baseline.
//!
//! It also finds test rows that equal a training row except for one or two cells, and have its answer. There, the
//! differing cells may be texts, and may differ by any amount. Rows with few different
//! values are similar to many others. So a match requires that at most three training rows have the same remaining
//! cells.

use std::collections::{HashMap, HashSet};

use super::rows::normal;
use crate::cells::Cells;
use crate::finding::{LeakFinding, LeakLevel};
use crate::statistics::{Tests, deviation, finite, hash_of, mean};
use crate::view::View;
use crate::world::rows_of_items;

/// Minimum number of numeric columns.
const MIN_COLUMNS: usize = 3;

/// Minimum number of near test rows.
const MIN_ROWS: usize = 15;

/// Minimum fraction of the remaining variance that the answers of near rows explain beyond the baseline.
const MIN_VARIANCE: f64 = 0.03;

/// Maximum number of training rows that are compared.
const MAX_TRAIN: usize = 40_000;

pub(crate) fn find(view: &View<'_>, tests: &mut Tests) -> Option<LeakFinding> {
    find_near(view, false, tests).or_else(|| find_near(view, true, tests))
}

/// Finds near rows. If `scaled` is set, rows may differ by a common factor, for example because of a different unit.
fn find_near(view: &View<'_>, scaled: bool, tests: &mut Tests) -> Option<LeakFinding> {
    let (label, _) = view.targets().next()?;
    let train = view.world.train_table(label)?;
    let (shown, key, items) = view.world.test_tables().next()?;
    let (mut test, mut known): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    for (_, own, other) in shown.table.shared_columns(key, train) {
        let (Some(own), Some(mut other)) = (varied(own), varied(other)) else {
            continue;
        };
        other.truncate(MAX_TRAIN);
        test.push(own);
        known.push(other);
    }
    if test.len() < MIN_COLUMNS {
        return None;
    }
    if scaled {
        normalize_rows(&mut test);
        normalize_rows(&mut known);
    }
    for (own, other) in test.iter_mut().zip(&mut known) {
        let finite = finite(other);
        let (mean, spread) = (mean(&finite), deviation(&finite));
        for cell in own.iter_mut().chain(other) {
            *cell = match cell.is_finite() {
                true => (*cell - mean) / spread.max(1e-300),
                false => 0.0,
            };
        }
    }
    let transposed = |columns: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let count = columns.first().map_or(0, Vec::len);
        let cells = |row: usize| {
            let cells = columns.iter().map(|column| column.get(row).copied());
            cells.map(|cell| cell.unwrap_or(0.0)).collect()
        };
        (0..count).map(cells).collect()
    };
    let (test, known) = (transposed(&test), transposed(&known));
    let row_of = rows_of_items(items);
    let chosen = view.chosen.iter();
    let nearest: Vec<Option<(f64, f64, usize)>> = chosen
        .map(|item| nearest(test.get(*row_of.get(item)?)?, &known))
        .collect();
    let firsts = nearest.iter().flatten();
    let mut usual: Vec<f64> = firsts.map(|(first, _, _)| *first).collect();
    usual.sort_by(f64::total_cmp);
    let usual = usual.get(usual.len() * 9 / 10).copied()?;
    let near = |nearest: &Option<(f64, f64, usize)>| {
        let (first, twentieth, row) = (*nearest)?;
        (first * 4.0 <= twentieth && first <= 0.05 * usual).then_some(row)
    };
    let near: Vec<Option<usize>> = nearest.iter().map(near).collect();
    let how = match scaled {
        true => "are almost equal to a training row, apart from a common factor",
        false => "are almost equal to a training row",
    };
    finding(view, &near, how, tests)
}

/// Returns the finding that chosen test rows have the answer of a near training row. `near` is the training row of each
/// chosen test item, and `how` describes the equality.
pub(super) fn finding(
    view: &View<'_>,
    near: &[Option<usize>],
    how: &str,
    tests: &mut Tests,
) -> Option<LeakFinding> {
    let count = near.iter().flatten().count();
    if count < MIN_ROWS {
        return None;
    }
    let (label, targets) = view.targets().next()?;
    let (_, rows) = view.training(label, targets)?;
    let prediction = near.iter().map(|row| rows.get((*row)?).cloned()).collect();
    let measured = view.measure(label, targets, &prediction, tests);
    if measured.beyond < MIN_VARIANCE {
        return None;
    }
    let what = format!(
        "{count} of {} test rows {how}, and its answer explains {:.0} % of the variance of `{}` that the intended features leave",
        view.chosen.len(),
        100.0 * measured.beyond,
        label.name
    );
    let name = |row: &Option<usize>| Some(format!("row {} of train", (*row)? + 1));
    let named: Vec<Option<String>> = near.iter().map(name).collect();
    let cells: Vec<Option<&str>> = named.iter().map(Option::as_deref).collect();
    let finding = LeakFinding::new(LeakLevel::Risk, "near", what);
    let finding = finding.evidence(view.examples(label, &cells));
    Some(finding.p_value(measured.p))
}

/// Returns the numbers of a column. `None` if it has too few numbers or too few different ones.
fn varied(cells: &Cells) -> Option<Vec<f64>> {
    let parse = |cell: &str| cell.trim().parse().unwrap_or(f64::NAN);
    let numbers: Vec<f64> = cells.iter().map(parse).collect();
    let different: HashSet<u64> = numbers.iter().map(|one| one.to_bits()).collect();
    let is_varied = different.len() * 3 >= numbers.len();
    (is_varied && finite(&numbers).len() * 10 >= numbers.len() * 9).then_some(numbers)
}

/// Divides each row by its Euclidean norm. Missing cells are ignored.
fn normalize_rows(columns: &mut [Vec<f64>]) {
    for row in 0..columns.first().map_or(0, Vec::len) {
        let cells = columns.iter().filter_map(|column| column.get(row));
        let finite = cells.filter(|one| one.is_finite());
        let squares: f64 = finite.map(|one| one * one).sum();
        for cell in columns.iter_mut().filter_map(|column| column.get_mut(row)) {
            *cell /= squares.sqrt().max(1e-300);
        }
    }
}

/// Returns the distances to the nearest and to the twentieth row, and the index of the nearest one.
fn nearest(row: &[f64], known: &[Vec<f64>]) -> Option<(f64, f64, usize)> {
    let mut best: Vec<(f64, usize)> = Vec::with_capacity(21);
    for (number, other) in known.iter().enumerate() {
        let apart: f64 = row.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum();
        if best.len() < 20 || best.last().is_some_and(|(most, _)| apart < *most) {
            let place = best.partition_point(|(one, _)| *one <= apart);
            best.insert(place, (apart, number));
            best.truncate(20);
        }
    }
    let (first, last) = (best.first()?, best.get(19)?);
    Some((first.0.sqrt(), last.0.sqrt(), first.1))
}

/// Minimum number of columns.
const MIN_CELL_COLUMNS: usize = 4;

/// Maximum number of columns with which two cells may differ.
const MAX_PAIRED_COLUMNS: usize = 16;

/// Maximum number of training rows with the same remaining cells.
const MAX_SAME: usize = 3;

/// Maximum number of training rows that are compared.
const MAX_CELL_TRAIN: usize = 200_000;

pub(crate) fn find_near_cells(view: &View<'_>, tests: &mut Tests) -> Option<LeakFinding> {
    let (label, _) = view.targets().next()?;
    let train = view.world.train_table(label)?;
    let (shown, key, items) = view.world.test_tables().next()?;
    let columns = shown.table.shared_columns(key, train);
    let columns: Vec<(&Cells, &Cells)> = columns.map(|(_, own, other)| (own, other)).collect();
    if columns.len() < MIN_CELL_COLUMNS {
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
    for row in 0..train.rows().min(MAX_CELL_TRAIN) {
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
    finding(view, &near, how, tests)
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
        if cells.len() <= MAX_PAIRED_COLUMNS && cells.len() > MIN_CELL_COLUMNS + 1 {
            let others = cells.get(place + 1..).unwrap_or_default().iter();
            for (other, offset) in others.zip(1_u32..) {
                visit(number + 1000 * (number + offset), rest.wrapping_sub(*other));
            }
        }
    }
}
