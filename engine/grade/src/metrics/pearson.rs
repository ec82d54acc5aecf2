//! `pearson`: linear correlation.

use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use super::label_pair::{COLUMNS, mean_over};
use crate::python::{mean, sum};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::Definition;
use crate::table::numbers::{ColumnSelection, doubles};
use crate::table::pair::Pair;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "pearson",
        summary: "Pearson's correlation; for several columns, the mean of their scores.",
        details: "sum(x y), where x and y are the centred values, divided by their norm. The result is clipped to [-1, \
                  1], or rounded to an integer if there are two rows. Fewer than two rows are invalid, and so is text; \
                  booleans are treated as 0 and 1. If all true or all predicted values are equal, or if a value is \
                  missing or infinite, the score is NaN.",
        source: "scipy.stats.pearsonr (1.14)",
        shorthand: Some("columns"),
        parameters: &[COLUMNS],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<Pearson>,
};

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
    // Same order of operations as SciPy, because it matters for values close to the smallest doubles.
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

/// Returns the values minus their mean, and the norm of the result. The norm is computed from scaled values so that it
/// does not overflow. `None` if all values are equal.
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
