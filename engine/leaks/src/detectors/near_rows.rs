//! `near`: finds rows of numbers that are almost equal to a training row and have its answer.
//!
//! Only numeric columns with many different values are compared, each in units of its standard deviation. A test row is
//! near if the distance to its nearest training row is at most a quarter of the distance to the twentieth, and at most
//! 5 % of the typical distance to the nearest row. Rows can be near by chance, but then the answers of their neighbours
//! add nothing to the baseline. So the detector reports the variance that these answers explain beyond the baseline.

use super::Tests;
use super::facts::examples;
use crate::finding::{LeakFinding, LeakLevel};
use crate::model::{Prediction, gain};
use crate::view::View;

/// Minimum number of numeric columns.
const MIN_COLUMNS: usize = 3;

/// Minimum number of near test rows.
const MIN_ROWS: usize = 15;

/// Minimum fraction of the variance that the answers of near rows explain beyond the baseline.
const MIN_VARIANCE: f64 = 0.03;

/// Maximum number of training rows that are compared.
const MAX_TRAIN: usize = 40_000;

pub(super) fn find(view: &View<'_>, tests: &mut Tests) -> Option<LeakFinding> {
    find_near(view, false, tests).or_else(|| find_near(view, true, tests))
}

/// Finds near rows. If `scaled` is set, rows may differ by a common factor, for example because of a different unit.
fn find_near(view: &View<'_>, scaled: bool, tests: &mut Tests) -> Option<LeakFinding> {
    let (label, targets) = view.targets().next()?;
    let train = view.world.train_table(label)?;
    let rows = targets.encode(train.column(&label.name)?)?;
    let (shown, key, items) = view.world.test_tables().next()?;
    let mut test: Vec<Vec<f64>> = Vec::new();
    let mut known: Vec<Vec<f64>> = Vec::new();
    for (place, name) in shown
        .table
        .names
        .iter()
        .enumerate()
        .filter(|(place, _)| *place != key)
    {
        let (Some(own), Some(other)) = (shown.table.columns.get(place), train.column(name)) else {
            continue;
        };
        let numbers = |cells: &[String]| -> Option<Vec<f64>> {
            let numbers: Vec<f64> = cells
                .iter()
                .map(|cell| cell.trim().parse().unwrap_or(f64::NAN))
                .collect();
            let finite = numbers.iter().filter(|one: &&f64| one.is_finite()).count();
            let different: std::collections::HashSet<u64> =
                numbers.iter().map(|one| one.to_bits()).collect();
            (finite * 10 >= numbers.len() * 9 && different.len() * 3 >= numbers.len())
                .then_some(numbers)
        };
        let (Some(own), Some(mut other)) = (numbers(own), numbers(other)) else {
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
        let finite: Vec<f64> = other
            .iter()
            .copied()
            .filter(|one| one.is_finite())
            .collect();
        let count = finite.len().max(1) as f64;
        let mean = finite.iter().sum::<f64>() / count;
        let spread = (finite.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count).sqrt();
        for cell in own.iter_mut().chain(other) {
            *cell = if cell.is_finite() {
                (*cell - mean) / spread.max(1e-300)
            } else {
                0.0
            };
        }
    }
    let transposed = |columns: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let count = columns.first().map_or(0, Vec::len);
        let cell = |row: usize| {
            columns
                .iter()
                .map(|column| column.get(row).copied().unwrap_or(0.0))
                .collect()
        };
        (0..count).map(cell).collect()
    };
    let (test, known) = (transposed(&test), transposed(&known));
    let row_of: std::collections::HashMap<usize, usize> = items
        .iter()
        .enumerate()
        .filter_map(|(row, item)| Some(((*item)?, row)))
        .collect();
    let nearest: Vec<Option<(f64, f64, usize)>> = view
        .chosen
        .iter()
        .map(|item| nearest(test.get(*row_of.get(item)?)?, &known))
        .collect();
    let mut usual: Vec<f64> = nearest
        .iter()
        .flatten()
        .map(|(first, _, _)| *first)
        .collect();
    usual.sort_by(f64::total_cmp);
    let usual = usual.get(usual.len() * 9 / 10).copied()?;
    let near: Vec<Option<usize>> = nearest
        .iter()
        .map(|one| {
            let (first, twentieth, row) = (*one)?;
            (first * 4.0 <= twentieth && first <= 0.05 * usual).then_some(row)
        })
        .collect();
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
        "{count} of {} test rows are almost equal to a training row{}, and its answer explains {:.0} % of the variance of `{}` that the intended features leave",
        view.chosen.len(),
        if scaled {
            ", apart from a common factor"
        } else {
            ""
        },
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

/// Divides each row by its Euclidean norm. Missing cells are ignored.
fn normalize_rows(columns: &mut [Vec<f64>]) {
    for row in 0..columns.first().map_or(0, Vec::len) {
        let cells = columns.iter().filter_map(|column| column.get(row));
        let squares: f64 = cells
            .filter(|one| one.is_finite())
            .map(|one| one * one)
            .sum();
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
