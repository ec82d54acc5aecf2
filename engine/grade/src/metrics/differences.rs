//! Metrics of the differences between numbers.

use prep_formats::pandas::ColumnData;
use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{COLUMNS, groups, mean_over, select};
use super::kind::{Metric, MetricKind, Score};
use crate::python::mean;
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, column, optional, required};
use crate::table::column::GradedColumn;
use crate::table::numbers::{ColumnSelection, differences, doubles, floats};
use crate::table::pair::Pair;

pub(super) const MEAN_ABSOLUTE_ERROR: MetricKind = MetricKind::lower::<MeanAbsoluteError>(
    Definition {
        name: "mean_absolute_error",
        summary: "Mean absolute difference; for several columns, the mean of their scores.",
        details: "mean(|true - predicted|) over all rows, or over the rows of each group and then averaged over the \
              groups. Missing and infinite values are invalid. If the sum exceeds the range of doubles, the score \
              is infinite. With `logarithm`, the logarithm of an error of 0 is minus infinity.",
        source: "sklearn.metrics.mean_absolute_error",
        shorthand: Some("columns"),
        parameters: &[
            COLUMNS,
            optional(
                "groups",
                KeyType::Column,
                "The answers' column that defines groups of rows. All groups have equal weight; rows without a group \
             are left out.",
            ),
            optional(
                "logarithm",
                KeyType::Boolean,
                "Whether to take the natural logarithm of each group's error before averaging.",
            ),
            optional(
                "whole",
                KeyType::Boolean,
                "Whether to round the score to an integer (halves to even). If so, an infinite score is invalid.",
            ),
        ],
    },
);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeanAbsoluteError {
    columns: ColumnSelection,
    groups: Option<String>,
    #[serde(default)]
    logarithm: bool,
    #[serde(default)]
    whole: bool,
}

impl Metric for MeanAbsoluteError {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let groups = self
            .groups
            .as_deref()
            .map(|column| groups(pair, column))
            .transpose()?;
        let score = mean_over(&self.columns, pair, |truth, predicted| {
            let errors = differences(truth, predicted)?;
            let errors: Vec<f64> = errors.into_iter().map(f64::abs).collect();
            Ok(match &groups {
                None => self.of_group(&errors),
                Some(groups) => {
                    let of_each = groups
                        .iter()
                        .map(|group| self.of_group(&select(&errors, group)));
                    mean(&of_each.collect::<Vec<f64>>())
                }
            })
        })?;
        match self.whole {
            true if !score.value.is_finite() => {
                let message = "the error is infinite";
                Err(Refusal::new(RefusalKind::Undefined, message))
            }
            true => Ok(Score::python(score.value.round_ties_even())),
            false => Ok(score),
        }
    }

    fn rows(&self) -> RowPolicy {
        RowPolicy::Times(1)
    }
}

impl MeanAbsoluteError {
    fn of_group(&self, errors: &[f64]) -> f64 {
        let error = mean(errors);
        if self.logarithm { error.ln() } else { error }
    }
}

pub(super) const ROOT_MEAN_SQUARED_ERROR: MetricKind = MetricKind::lower::<RootMeanSquaredError>(
    Definition {
        name: "root_mean_squared_error",
        summary: "Square root of the mean squared difference; for several columns, the mean of their scores.",
        details: "sqrt(mean((true - predicted)^2)). Missing and infinite values are invalid. If a square exceeds the \
              range of doubles, the score is infinite.",
        source: "sklearn.metrics.root_mean_squared_error",
        shorthand: Some("columns"),
        parameters: &[COLUMNS],
    },
);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RootMeanSquaredError {
    columns: ColumnSelection,
}

impl Metric for RootMeanSquaredError {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        mean_over(&self.columns, pair, |truth, predicted| {
            Ok(root_mean_square(&differences(truth, predicted)?))
        })
    }

    fn rows(&self) -> RowPolicy {
        RowPolicy::Times(1)
    }
}

pub(super) fn root_mean_square(errors: &[f64]) -> f64 {
    let squares: Vec<f64> = errors.iter().map(|error| error * error).collect();
    mean(&squares).sqrt()
}

pub(super) const ROOT_MEAN_SQUARED_LOG_ERROR: MetricKind = MetricKind::lower::<
    RootMeanSquaredLogError,
>(Definition {
    name: "root_mean_squared_log_error",
    summary: "Root mean squared difference of ln(1 + x); for several columns, the mean of their scores.",
    details: "sqrt(mean((ln(1 + true) - ln(1 + predicted))^2)). Negative, missing and infinite values are \
              invalid; `-0.0` is not negative. Booleans are treated as 0 and 1, with logarithms in half precision \
              as in NumPy.",
    source: "sklearn.metrics.root_mean_squared_log_error",
    shorthand: Some("columns"),
    parameters: &[COLUMNS],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RootMeanSquaredLogError {
    columns: ColumnSelection,
}

impl Metric for RootMeanSquaredLogError {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        mean_over(&self.columns, pair, |truth, predicted| {
            let predicted = logarithms(predicted)?;
            let truth = logarithms(truth)?;
            let errors: Vec<f64> = truth.iter().zip(&predicted).map(|(a, b)| a - b).collect();
            Ok(root_mean_square(&errors))
        })
    }
}

/// ln 2 rounded to eleven bits, because NumPy computes the logarithm of a boolean in half precision.
const LN_2_HALF: f64 = 0.693_359_375;

fn logarithms(column: &GradedColumn<'_>) -> Result<Vec<f64>, Refusal> {
    let values = floats(column)?;
    if matches!(column.data(), ColumnData::Bool(_)) {
        return Ok(values.into_iter().map(|value| value * LN_2_HALF).collect());
    }
    match values.iter().position(|value| *value < 0.0) {
        Some(row) => Err(column.refuse(RefusalKind::Range, row, "a number that is not negative")),
        None => Ok(values.into_iter().map(f64::ln_1p).collect()),
    }
}

pub(super) const LAPLACE_LOG_LIKELIHOOD: MetricKind = MetricKind::higher::<LaplaceLogLikelihood>(
    Definition {
        name: "laplace_log_likelihood",
        summary: "Mean log likelihood of the true values under Laplace distributions with the predicted centres and \
              standard deviations.",
        details: "mean(-sqrt(2) d / s - ln(sqrt(2) s)), with d = min(|true - predicted|, `max_error`) and s = \
              max(deviation, `min_deviation`). A missing value, or no rows at all, makes the score NaN. The error \
              of an infinite prediction is `max_error`. The log likelihood for an infinite deviation is minus \
              infinity. Text is invalid; booleans are treated as 0 and 1.",
        source: "kaggle.com/code/rohanrao/osic-understanding-laplace-log-likelihood",
        shorthand: None,
        parameters: &[
            column("column", "The column of values."),
            column(
                "deviation",
                "The submission's column of standard deviations.",
            ),
            required(
                "min_deviation",
                KeyType::Number,
                "The lower bound for the standard deviation.",
            ),
            required(
                "max_error",
                KeyType::Number,
                "The upper bound for the error.",
            ),
        ],
    },
);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LaplaceLogLikelihood {
    column: String,
    deviation: String,
    min_deviation: f64,
    max_error: f64,
}

impl Metric for LaplaceLogLikelihood {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let truth = doubles(&pair.answers.column(&self.column)?)?;
        let predicted = doubles(&pair.submission.column(&self.column)?)?;
        let deviations = doubles(&pair.submission.column(&self.deviation)?)?;
        let root = 2f64.sqrt();
        let rows: Vec<f64> = truth
            .iter()
            .zip(&predicted)
            .zip(&deviations)
            .map(|((truth, predicted), deviation)| {
                let error = keep_nan((truth - predicted).abs(), f64::min, self.max_error);
                let deviation = keep_nan(*deviation, f64::max, self.min_deviation);
                -root * error / deviation - (root * deviation).ln()
            })
            .collect();
        Ok(Score::numpy(mean(&rows)))
    }
}

/// Computes NumPy's minimum or maximum, which are NaN if a value is NaN.
fn keep_nan(value: f64, bound: fn(f64, f64) -> f64, by: f64) -> f64 {
    if value.is_nan() {
        value
    } else {
        bound(value, by)
    }
}
