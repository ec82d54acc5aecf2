//! Correlations of numbers and of orders.

use std::cmp::Ordering;
use std::collections::HashMap;

use prep_formats::pandas::{ColumnData, argsort};
use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{COLUMNS, mean_over};
use super::kind::{Metric, MetricKind, Score};
use crate::python::{mean, python_float, sum, words};
use crate::refusal::{Refusal, RefusalKind, count};
use crate::spec::definition::{Definition, column, optional};
use crate::table::column::text;
use crate::table::column::{CellValue, GradedColumn};
use crate::table::numbers::{ColumnSelection, both_floats, doubles, finite, number};
use crate::table::pair::Pair;

pub(super) const PEARSON: MetricKind = MetricKind::higher::<Pearson>(Definition {
    name: "pearson",
    summary: "Pearson's correlation; for several columns, the mean of their scores.",
    details: "The score is sum(x y). To compute x, the mean of the true values is subtracted from each true value. The \
              differences are then divided by their Euclidean norm. y is computed from the predicted values in the \
              same way. The score is clipped to [-1, 1]. If there are only two rows, it is rounded to an integer \
              instead.\n\n\
              Fewer than two rows are invalid, and so is text. Booleans are treated as 0 and 1. If all true or all \
              predicted values are equal, or if a value is missing or infinite, the score is NaN.",
    source: "scipy.stats.pearsonr (1.14)",
    shorthand: Some("columns"),
    parameters: &[COLUMNS],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pearson {
    columns: ColumnSelection,
}

impl Metric for Pearson {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        mean_over(&self.columns, pair, |truth, predicted| {
            let (x, y) = (doubles(truth)?, doubles(predicted)?);
            if x.len() < 2 {
                let message = "a correlation needs at least two rows";
                return Err(Refusal::new(RefusalKind::RowCount, message));
            }
            Ok(correlation(&x, &y))
        })
    }
}

fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let (Some((x, norm_x)), Some((y, norm_y))) = (centred(x), centred(y)) else {
        return f64::NAN;
    };
    // The order of operations is that of SciPy. Another order changes results for values close to the smallest doubles.
    let products: Vec<f64> = x
        .iter()
        .zip(&y)
        .map(|(x, y)| x / norm_x * y / norm_y)
        .collect();
    let correlation = sum(&products);
    if x.len() == 2 {
        correlation.round()
    } else {
        correlation.clamp(-1.0, 1.0)
    }
}

/// Subtracts the mean from the values. Returns the differences, and the norm of these differences. To prevent an
/// overflow, the differences are divided by the largest one before they are squared.
///
/// Returns `None` if all values are equal.
fn centred(values: &[f64]) -> Option<(Vec<f64>, f64)> {
    let first = values.first()?;
    if values.iter().all(|value| value == first) {
        return None;
    }
    let mean = mean(values);
    let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
    // NumPy's maximum is NaN if a value is NaN.
    let largest = centred
        .iter()
        .fold(0.0, |largest: f64, value| match value.is_nan() {
            true => f64::NAN,
            false if largest.is_nan() => largest,
            false => largest.max(value.abs()),
        });
    let squares: Vec<f64> = centred
        .iter()
        .map(|value| (value / largest).powi(2))
        .collect();
    Some((centred, largest * sum(&squares).sqrt()))
}

pub(super) const SPEARMAN: MetricKind = MetricKind::higher::<Spearman>(Definition {
    name: "spearman",
    summary: "Spearman's rank correlation; for several columns, the mean of their scores.",
    details: "The score is Pearson's correlation of the ranks. Equal values get the mean of their ranks. Minus \
              infinity has the lowest rank, and infinity the highest.\n\n\
              Booleans are treated as 0 and 1. A column of text is ranked by code point, even if the texts are \
              numbers. If all true or all predicted values are equal, if a value is missing, or if there are fewer \
              than two rows, the score is NaN.",
    source: "scipy.stats.spearmanr",
    shorthand: Some("columns"),
    parameters: &[
        COLUMNS,
        optional(
            "per_row",
            KeyType::Boolean,
            "Whether the correlation is computed for each row and averaged over the rows. The numbers of a row are those \
             of the columns or, if there is one column, those in its cell, separated by whitespace. Missing and \
             infinite numbers are invalid.",
        ),
    ],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spearman {
    columns: ColumnSelection,
    #[serde(default)]
    per_row: bool,
}

impl Metric for Spearman {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        if self.per_row {
            return self.mean_of_rows(pair);
        }
        mean_over(&self.columns, pair, |truth, predicted| {
            let exact = [truth, predicted].into_iter().all(has_integers);
            let (truth, predicted) = (column_ranks(truth, exact)?, column_ranks(predicted, exact)?);
            Ok(truth.zip(predicted).map_or(f64::NAN, |(truth, predicted)| {
                rank_correlation(&truth, &predicted)
            }))
        })
    }
}

impl Spearman {
    fn mean_of_rows(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let names = self.columns.select(pair);
        let answers = pair.answers.columns(&names)?;
        let submission = pair.submission.columns(&names)?;
        let rows = (0..pair.answers.len()).map(|row| {
            let predicted = numbers_of_row(&submission, row)?;
            let truth = numbers_of_row(&answers, row)?;
            if let Some(column) = submission.first()
                && truth.len() != predicted.len()
            {
                let expected = count(truth.len(), "number");
                return Err(column.refuse(RefusalKind::Ids, row, &expected));
            }
            let compare = |a: &f64, b: &f64| a.partial_cmp(b).unwrap_or(Ordering::Equal);
            let ranks = ranks(truth, compare).zip(ranks(predicted, compare));
            Ok(ranks.map_or(f64::NAN, |(truth, predicted)| {
                rank_correlation(&truth, &predicted)
            }))
        });
        let rows = rows.collect::<Result<Vec<f64>, Refusal>>()?;
        Ok(Score::numpy(mean(&rows)))
    }
}

/// Returns the numbers of a row. If there is only one column, its cell lists them. Otherwise each cell contains one number.
fn numbers_of_row(columns: &[GradedColumn<'_>], row: usize) -> Result<Vec<f64>, Refusal> {
    match columns {
        [column] => {
            let cell = text(column.value(row));
            let numbers = words(&cell).map(|word| python_float(word).filter(|one| one.is_finite()));
            let numbers: Option<Vec<f64>> = numbers.collect();
            let expected = "numbers, separated by whitespace";
            numbers.ok_or_else(|| column.refuse(RefusalKind::Type, row, expected))
        }
        columns => {
            let numbers = columns.iter();
            let numbers = numbers.map(|column| finite(column, row, column.value(row)));
            numbers.collect()
        }
    }
}

/// Returns whether a column contains integers or booleans. NumPy compares the values of two such columns as integers.
fn has_integers(column: &GradedColumn<'_>) -> bool {
    matches!(column.data(), ColumnData::Int64(_) | ColumnData::Bool(_))
}

/// Returns the ranks of a column's values, from 1, or `None` if the correlation is not defined. If `exact` is true, integers
/// are compared as integers, not as doubles.
fn column_ranks(column: &GradedColumn<'_>, exact: bool) -> Result<Option<Vec<f64>>, Refusal> {
    let values: Vec<CellValue<'_>> = column.values().collect();
    if values.contains(&CellValue::Missing) {
        return Ok(None);
    }
    let is_text = |value: &CellValue<'_>| matches!(value, CellValue::Text(_));
    let texts = values.iter().filter(|value| is_text(value)).count();
    if values.len() > 1 && texts > 0 && texts < values.len() {
        let odd = values.iter().position(is_text).unwrap_or_default();
        return Err(column.refuse(RefusalKind::Type, odd, "numbers only, or text only"));
    }
    Ok(ranks(values, |a, b| match (a, b) {
        (CellValue::Text(a), CellValue::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (CellValue::Int(a), CellValue::Int(b)) if exact => a.cmp(b),
        (a, b) => number(*a)
            .partial_cmp(&number(*b))
            .unwrap_or(Ordering::Equal),
    }))
}

/// Returns the ranks of the values, from 1. Returns `None` for fewer than two values, or if all are equal.
fn ranks<T>(values: Vec<T>, compare: impl Fn(&T, &T) -> Ordering) -> Option<Vec<f64>> {
    let mut order: Vec<(usize, T)> = values.into_iter().enumerate().collect();
    order.sort_by(|a, b| compare(&a.1, &b.1));
    let mut ranks = vec![0.0; order.len()];
    let mut before = 0;
    for tied in order.chunk_by(|a, b| compare(&a.1, &b.1) == Ordering::Equal) {
        if tied.len() == ranks.len() {
            return None;
        }
        let rank = before as f64 + (tied.len() + 1) as f64 / 2.0;
        before += tied.len();
        for (position, _) in tied {
            if let Some(place) = ranks.get_mut(*position) {
                *place = rank;
            }
        }
    }
    (ranks.len() > 1).then_some(ranks)
}

/// Returns the correlation of two lists of ranks, which have the same length of at least two.
fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let centre = |values: &[f64]| -> Vec<f64> {
        let mean = mean(values);
        values.iter().map(|value| value - mean).collect()
    };
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let (a, b) = (centre(a), centre(b));
    let degrees_of_freedom = (a.len() - 1) as f64;
    let (deviation_a, deviation_b) = (
        (dot(&a, &a) / degrees_of_freedom).sqrt(),
        (dot(&b, &b) / degrees_of_freedom).sqrt(),
    );
    (dot(&a, &b) / degrees_of_freedom / deviation_a / deviation_b).clamp(-1.0, 1.0)
}

pub(super) const NORMALISED_GINI: MetricKind = MetricKind::higher::<NormalisedGini>(Definition {
    name: "normalised_gini",
    summary: "Gini coefficient of the true values in the order of the predictions, divided by that in their own order; \
              for several columns, the mean of their scores.",
    details: "The coefficient is (sum(c) / s - (n + 1) / 2) / n, where n is the number of rows and s the sum of the \
              true values. c are the cumulative sums of the true values in the order of decreasing predictions. For \
              the divisor, the order is that of decreasing true values.\n\n\
              The true values must not all be equal, and their sum must not be 0. Missing and infinite values are \
              invalid.",
    source: "Kaggle's evaluation of Liberty Mutual's and Porto Seguro's competitions",
    shorthand: Some("columns"),
    parameters: &[
        COLUMNS,
        optional(
            "ties",
            KeyType::Choice(&["stable", "quicksort", "reversed_quicksort"]),
            "The order of equal predictions: `stable` (default): that of the rows; `quicksort`: that of \
             `numpy.argsort(-p)` without AVX-512; `reversed_quicksort`: that of `numpy.argsort(p)[::-1]`.",
        ),
    ],
});

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TieOrder {
    #[default]
    Stable,
    Quicksort,
    ReversedQuicksort,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NormalisedGini {
    columns: ColumnSelection,
    #[serde(default)]
    ties: TieOrder,
}

impl Metric for NormalisedGini {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        mean_over(&self.columns, pair, |truth, predicted| {
            let (values, predictions) = both_floats(truth, predicted)?;
            let is_constant = values.iter().all(|value| Some(value) == values.first());
            if is_constant || sum(&values) == 0.0 {
                let message = "the answers need two different values and a sum that is not 0";
                return Err(Refusal::new(RefusalKind::Answers, message).in_column(truth.name));
            }
            Ok(self.gini(&values, &predictions) / self.gini(&values, &values))
        })
    }
}

impl NormalisedGini {
    fn gini(&self, values: &[f64], predictions: &[f64]) -> f64 {
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        let at = |row: u32| predictions.get(row as usize).copied().unwrap_or_default();
        match self.ties {
            // Finite numbers can always be compared.
            TieOrder::Stable => {
                order.sort_by(|a, b| at(*b).partial_cmp(&at(*a)).unwrap_or(Ordering::Equal));
            }
            TieOrder::Quicksort => argsort(&mut order, |a, b| at(a) > at(b)),
            TieOrder::ReversedQuicksort => {
                argsort(&mut order, |a, b| at(a) < at(b));
                order.reverse();
            }
        }
        let mut cumulative = 0.0;
        let sums = order.iter().map(|row| {
            cumulative += values.get(*row as usize).copied().unwrap_or_default();
            cumulative
        });
        let sums: Vec<f64> = sums.collect();
        let rows = values.len() as f64;
        (sum(&sums) / sum(values) - (rows + 1.0) / 2.0) / rows
    }
}

pub(super) const KENDALL_TAU: MetricKind = MetricKind::higher::<KendallTau>(Definition {
    name: "kendall_tau",
    summary: "Kendall's rank correlation of true and predicted orders, over all rows together.",
    details: "A cell lists items, separated by whitespace. Both cells of a row must contain the same items. Cells are \
              converted to text, so a missing cell is the item `nan`.\n\n\
              The score is 1 - 4 S / sum(n (n - 1)). n is the number of items of a row, and the sum is over all rows. \
              S is the number of pairs of items in all rows whose predicted order is the reverse of the true order. If \
              no row has at least two items, the submission is invalid.",
    source: "kaggle.com/code/ryanholbrook/competition-metric-kendall-tau-correlation",
    shorthand: Some("column"),
    parameters: &[column("column", "The column of lists.")],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KendallTau {
    column: String,
}

impl Metric for KendallTau {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        let (mut inversions, mut ordered_pairs) = (0u64, 0u64);
        for row in 0..answers.len() {
            let (truth, predicted) = (text(answers.value(row)), text(prediction.value(row)));
            let (truth, predicted): (Vec<&str>, Vec<&str>) =
                (words(&truth).collect(), words(&predicted).collect());
            if truth.len() != predicted.len() {
                let expected = format!("a list of {}", count(truth.len(), "item"));
                return Err(prediction.refuse(RefusalKind::Ids, row, &expected));
            }
            let mut places = HashMap::new();
            for (place, item) in (0u32..).zip(&predicted) {
                places.entry(*item).or_insert(place);
            }
            let ranks: Option<Vec<u32>> =
                truth.iter().map(|item| places.get(item).copied()).collect();
            let Some(mut ranks) = ranks else {
                return Err(prediction.refuse(
                    RefusalKind::Ids,
                    row,
                    "the items of the answers, each once",
                ));
            };
            inversions += sort_counting(&mut ranks);
            let items = truth.len() as u64;
            ordered_pairs += items * items.saturating_sub(1);
        }
        if ordered_pairs == 0 {
            let message = "no list has at least two items, so the correlation is undefined";
            return Err(Refusal::new(RefusalKind::Undefined, message).in_column(&self.column));
        }
        Ok(Score::python(
            1.0 - (4 * inversions) as f64 / ordered_pairs as f64,
        ))
    }
}

/// Sorts numbers with merge sort. Returns the number of pairs that were in the wrong order.
fn sort_counting(ranks: &mut Vec<u32>) -> u64 {
    if ranks.len() < 2 {
        return 0;
    }
    let mut right = ranks.split_off(ranks.len() / 2);
    let mut inversions = sort_counting(ranks) + sort_counting(&mut right);
    let left = std::mem::take(ranks);
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    loop {
        match (left.peek(), right.peek()) {
            (Some(a), Some(b)) if b < a => {
                inversions += left.len() as u64;
                ranks.extend(right.next());
            }
            (Some(_), _) => ranks.extend(left.next()),
            (None, Some(_)) => ranks.extend(right.next()),
            (None, None) => return inversions,
        }
    }
}
