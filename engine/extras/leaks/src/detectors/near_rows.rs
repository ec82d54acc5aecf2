//! `near`: finds test rows whose numbers are almost equal to those of a training row.
//!
//! Only numeric columns with many different values are compared, in units of their standard deviations. A test row is
//! near a training row if the distance to its nearest training row is
//!
//! - at most a quarter of the distance to the twentieth nearest training row,
//! - and at most 5 % of the typical distance of test rows to their nearest training rows.
//!
//! Rows can also be near by chance. Therefore near rows are reported only if the answers of the training rows explain
//! enough of the variance that the intended features leave unexplained.

use std::collections::HashSet;

use crate::finding::LeakFinding;
use crate::statistics::{Tests, deviation, finite, mean, nearest};
use crate::table::{CellTexts, numbers};
use crate::view::View;
use crate::world::rows_of_items;

const MIN_COLUMNS: usize = 3;

/// Only the first training rows, up to this number, are compared.
const MAX_TRAIN: usize = 40_000;

pub(crate) fn find(view: &View<'_>, tests: &mut Tests) -> Option<LeakFinding> {
    find_near(view, false, tests).or_else(|| find_near(view, true, tests))
}

/// Finds near rows. If `scaled` is true, a row is also near all its multiples, for example the same row in
/// another unit.
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
    let chosen = view.world.chosen.iter();
    let nearest = chosen.map(|item| {
        let own = test.get(*row_of.get(item)?)?;
        nearest(known.len(), |row, _| {
            let both = own.iter().zip(known.get(row)?);
            Some(both.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt())
        })
    });
    let nearest: Vec<Option<(usize, f64, f64)>> = nearest.collect();
    let firsts = nearest.iter().flatten();
    let mut usual: Vec<f64> = firsts.map(|(_, first, _)| *first).collect();
    usual.sort_by(f64::total_cmp);
    let usual = usual.get(usual.len() * 9 / 10).copied()?;
    let near = |nearest: &Option<(usize, f64, f64)>| {
        let (row, first, twentieth) = (*nearest)?;
        (first * 4.0 <= twentieth && first <= 0.05 * usual).then_some(row)
    };
    let near: Vec<Option<usize>> = nearest.iter().map(near).collect();
    let what = match scaled {
        true => "test rows are almost equal to a training row, apart from a common factor",
        false => "test rows are almost equal to a training row",
    };
    view.related("near", what, &near, 0.03, tests)
}

/// Returns the numbers of a column. `None` if the column has too few numbers, or too few different numbers.
fn varied(cells: &CellTexts) -> Option<Vec<f64>> {
    let is_varied = |numbers: &Vec<f64>| {
        let different: HashSet<u64> = numbers.iter().map(|one| one.to_bits()).collect();
        different.len() * 3 >= numbers.len()
    };
    numbers(cells).filter(is_varied)
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
