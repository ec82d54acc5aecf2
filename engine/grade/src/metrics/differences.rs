//! Metrics of the differences between numbers.
//!
//! A metric defines the error of a row, and how the errors of all rows become a score. [`Compared`] reads the columns and
//! the weights of rows.

use std::fmt::Debug;

use prep_formats::pandas::ColumnData;
use prep_spec::words::{KeyType, SectionKey};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::kind::{COLUMNS, FINITE, ROW_WEIGHTS, groups, mean_by, row_weights, select};
use super::kind::{Metric, MetricKind, Score};
use crate::python::{mean, sum};
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, column, optional, required};
use crate::table::column::GradedColumn;
use crate::table::numbers::{
    ColumnSelection, both_floats, differences, doubles, floats, subtractable,
};
use crate::table::pair::Pair;

const POOLED: SectionKey = optional(
    "pooled",
    KeyType::Boolean,
    "Whether the score is computed once, over the cells of all columns. Without this key, the score is the mean of \
     the columns' scores.",
);

/// The parameters of all metrics that compare columns of numbers.
#[derive(Debug, Deserialize)]
struct Compared {
    columns: ColumnSelection,
    row_weights: Option<String>,
    #[serde(default)]
    pooled: bool,
}

/// The numbers of a column, or of all pooled columns, and the weights of their rows.
#[derive(Debug, Default)]
struct Numbers {
    truth: Vec<f64>,
    predicted: Vec<f64>,
    weights: Option<Vec<f64>>,
}

type ReadNumbers<'r> =
    &'r dyn Fn(&GradedColumn<'_>, &GradedColumn<'_>) -> Result<(Vec<f64>, Vec<f64>), Refusal>;

impl Compared {
    /// Returns the mean of `score` over the columns, or the score of the pooled columns.
    fn score(
        &self,
        pair: &Pair<'_>,
        read: ReadNumbers<'_>,
        score: impl Fn(&Numbers) -> f64,
    ) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let weights = row_weights(pair, self.row_weights.as_deref())?;
        let (mut scores, mut pooled) = (Vec::new(), Numbers::default());
        for name in self.columns.select(pair) {
            let truth = pair.answers.column(name)?;
            let (truth, predicted) = read(&truth, &pair.submission.column(name)?)?;
            if self.pooled {
                pooled.truth.extend(truth);
                pooled.predicted.extend(predicted);
                if let Some(weights) = &weights {
                    pooled.weights.get_or_insert_default().extend(weights);
                }
                continue;
            }
            let weights = weights.clone();
            scores.push(score(&Numbers {
                truth,
                predicted,
                weights,
            }));
        }
        if self.pooled {
            scores.push(score(&pooled));
        }
        Ok(Score::numpy(mean(&scores)))
    }
}

impl Numbers {
    /// Returns the error of each row. `error` gets the true and the predicted number.
    fn errors(&self, error: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let rows = self.truth.iter().zip(&self.predicted);
        rows.map(|(truth, predicted)| error(*truth, *predicted))
            .collect()
    }

    fn mean(&self, errors: &[f64]) -> f64 {
        mean_by(errors, self.weights.as_deref())
    }

    fn mean_square(&self) -> f64 {
        self.mean(&self.errors(|truth, predicted| (truth - predicted) * (truth - predicted)))
    }
}

/// A metric that is a function of a column's true and predicted numbers.
trait OfNumbers: Debug + Send + Sync {
    const READ: ReadNumbers<'static> = &subtractable;

    /// Returns the score of a column, or of all pooled columns.
    fn score(&self, numbers: &Numbers) -> f64;
}

/// A metric `M` with the parameters in [`Compared`].
#[derive(Debug, Deserialize)]
struct OfColumns<M> {
    #[serde(flatten)]
    compared: Compared,
    #[serde(flatten)]
    metric: M,
}

impl<M: OfNumbers> Metric for OfColumns<M> {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let score = |numbers: &Numbers| self.metric.score(numbers);
        self.compared.score(pair, M::READ, score)
    }

    fn rows(&self) -> RowPolicy {
        RowPolicy::Times(1)
    }

    fn cell(&self) -> Option<&'static str> {
        Some(FINITE)
    }
}

pub(super) const MEAN_ABSOLUTE_ERROR: MetricKind = MetricKind::lower::<MeanAbsoluteError>(
    Definition {
        name: "mean_absolute_error",
        summary: "Mean absolute difference; for several columns, the mean of their scores.",
        details: "The error is mean(|true - predicted|) over all rows. With `groups`, the error is computed for each \
              group and averaged over the groups. With `row_weights`, the error is sum(w |true - predicted|) / \
              sum(w).\n\n\
              Missing and infinite values are invalid. If the sum of the differences exceeds the range of doubles, the \
              score is infinite. With `logarithm`, an error of 0 becomes minus infinity.",
        source: "sklearn.metrics.mean_absolute_error",
        shorthand: Some("columns"),
        parameters: &[
            COLUMNS,
            ROW_WEIGHTS,
            optional(
                "divide_by",
                KeyType::Choice(&["weights", "rows"]),
                "Whether the weighted sum is divided by the sum of the weights (default) or by the number of rows.",
            ),
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

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DivideBy {
    #[default]
    Weights,
    Rows,
}

#[derive(Debug, Deserialize)]
struct MeanAbsoluteError {
    #[serde(flatten)]
    compared: Compared,
    #[serde(default)]
    divide_by: DivideBy,
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
        let score = self.compared.score(pair, &differences, |numbers| {
            let errors = numbers.errors(|truth, predicted| (truth - predicted).abs());
            let weights = numbers.weights.as_deref();
            match &groups {
                None => self.of_group(&errors, weights),
                Some(groups) => {
                    let of_each = groups.iter().map(|group| {
                        let weights = weights.map(|weights| select(weights, group));
                        self.of_group(&select(&errors, group), weights.as_deref())
                    });
                    mean(&of_each.collect::<Vec<f64>>())
                }
            }
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

    fn cell(&self) -> Option<&'static str> {
        Some(FINITE)
    }
}

impl MeanAbsoluteError {
    fn of_group(&self, errors: &[f64], weights: Option<&[f64]>) -> f64 {
        let error = match (weights, self.divide_by) {
            (Some(weights), DivideBy::Rows) => {
                let products: Vec<f64> = errors.iter().zip(weights).map(|(a, b)| a * b).collect();
                mean(&products)
            }
            (weights, _) => mean_by(errors, weights),
        };
        if self.logarithm { error.ln() } else { error }
    }
}

pub(super) const MEDIAN_ABSOLUTE_ERROR: MetricKind = MetricKind::lower::<
    OfColumns<MedianAbsoluteError>,
>(Definition {
    name: "median_absolute_error",
    summary: "Median absolute difference; for several columns, the mean of their scores.",
    details: "The score is the median of |true - predicted|. For an even number of rows, it is the mean of the two \
              middle values. Missing and infinite values are invalid.\n\n\
              With `row_weights`, the weights are added in the order of increasing errors. The score is the first \
              error at which this sum reaches half of the sum of all weights.",
    source: "sklearn.metrics.median_absolute_error",
    shorthand: Some("columns"),
    parameters: &[COLUMNS, ROW_WEIGHTS, POOLED],
});

#[derive(Debug, Deserialize)]
struct MedianAbsoluteError {}

impl OfNumbers for MedianAbsoluteError {
    const READ: ReadNumbers<'static> = &differences;

    fn score(&self, numbers: &Numbers) -> f64 {
        let errors = numbers.errors(|truth, predicted| (truth - predicted).abs());
        median(errors, numbers.weights.as_deref())
    }
}

/// Returns the median. With weights, returns the smallest value at which the sum of the weights reaches half of all weights.
fn median(mut values: Vec<f64>, weights: Option<&[f64]>) -> f64 {
    let Some(weights) = weights else {
        values.sort_unstable_by(f64::total_cmp);
        let half = values.len() / 2;
        let low = half - usize::from(half > 0 && values.len().is_multiple_of(2));
        return mean(values.get(low..=half).unwrap_or_default());
    };
    let mut rows: Vec<(f64, f64)> = values.into_iter().zip(weights.iter().copied()).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Like scikit-learn, add the weights one after the other.
    let half = rows.iter().fold(0.0, |sum, row| sum + row.1) / 2.0;
    let mut reached = 0.0;
    let row = rows.iter().find(|(_, weight)| {
        reached += weight;
        reached >= half
    });
    row.or(rows.last()).map_or(f64::NAN, |row| row.0)
}

pub(super) const MEAN_ABSOLUTE_PERCENTAGE_ERROR: MetricKind = MetricKind::lower::<
    OfColumns<MeanAbsolutePercentageError>,
>(Definition {
    name: "mean_absolute_percentage_error",
    summary: "Mean absolute difference relative to the true value; for several columns, the mean of their scores.",
    details: "The score is mean(|true - predicted| / max(|true|, 2^-52)), a fraction and not a percentage. Missing and \
              infinite values are invalid.",
    source: "sklearn.metrics.mean_absolute_percentage_error",
    shorthand: Some("columns"),
    parameters: &[COLUMNS, ROW_WEIGHTS],
});

#[derive(Debug, Deserialize)]
struct MeanAbsolutePercentageError {}

impl OfNumbers for MeanAbsolutePercentageError {
    fn score(&self, numbers: &Numbers) -> f64 {
        numbers.mean(
            &numbers.errors(|truth, predicted| {
                (truth - predicted).abs() / truth.abs().max(f64::EPSILON)
            }),
        )
    }
}

pub(super) const SMAPE: MetricKind = MetricKind::lower::<OfColumns<Smape>>(Definition {
    name: "smape",
    summary: "Symmetric mean absolute percentage error, from 0 to 200; for several columns, the mean of their scores.",
    details: "The score is mean(200 |true - predicted| / (|true| + |predicted|)). A row in which both values are 0 \
              contributes 0 to the mean. Missing and infinite values are invalid.",
    source: "Makridakis (1993); Kaggle's playground series 3, episode 19",
    shorthand: Some("columns"),
    parameters: &[COLUMNS, ROW_WEIGHTS],
});

#[derive(Debug, Deserialize)]
struct Smape {}

impl OfNumbers for Smape {
    fn score(&self, numbers: &Numbers) -> f64 {
        numbers.mean(&numbers.errors(|truth, predicted| {
            let size = truth.abs() + predicted.abs();
            if size == 0.0 {
                return 0.0;
            }
            200.0 * (truth - predicted).abs() / size
        }))
    }
}

const SQUARED: SectionKey = optional(
    "squared",
    KeyType::Boolean,
    "Whether the score is the mean squared error, without the square root.",
);

pub(super) const ROOT_MEAN_SQUARED_ERROR: MetricKind = MetricKind::lower::<
    OfColumns<RootMeanSquaredError>,
>(Definition {
    name: "root_mean_squared_error",
    summary: "Square root of the mean squared difference; for several columns, the mean of their scores.",
    details: "The score is sqrt(mean((true - predicted)^2)). Missing and infinite values are invalid. If a square \
              exceeds the range of doubles, the score is infinite.",
    source: "sklearn.metrics.root_mean_squared_error",
    shorthand: Some("columns"),
    parameters: &[COLUMNS, ROW_WEIGHTS, SQUARED, POOLED],
});

#[derive(Debug, Deserialize)]
struct RootMeanSquaredError {
    #[serde(default)]
    squared: bool,
}

impl OfNumbers for RootMeanSquaredError {
    const READ: ReadNumbers<'static> = &differences;

    fn score(&self, numbers: &Numbers) -> f64 {
        root_unless(self.squared, numbers.mean_square())
    }
}

/// Returns the square root of `mean_square`. If `squared` is true, returns `mean_square` itself.
fn root_unless(squared: bool, mean_square: f64) -> f64 {
    if squared {
        mean_square
    } else {
        mean_square.sqrt()
    }
}

pub(super) const ROOT_MEAN_SQUARED_PERCENTAGE_ERROR: MetricKind = MetricKind::lower::<
    OfColumns<RootMeanSquaredPercentageError>,
>(Definition {
    name: "root_mean_squared_percentage_error",
    summary: "Root mean squared difference relative to the true value; for several columns, the mean of their scores.",
    details: "The score is sqrt(mean(((true - predicted) / true)^2)), where the mean leaves out the rows whose true \
              value is 0. The score is a fraction and not a percentage. If all true values are 0, the score is NaN. \
              Missing and infinite values are invalid.",
    source: "Kaggle's evaluation of Rossmann Store Sales",
    shorthand: Some("columns"),
    parameters: &[COLUMNS, ROW_WEIGHTS, POOLED],
});

#[derive(Debug, Deserialize)]
struct RootMeanSquaredPercentageError {}

impl OfNumbers for RootMeanSquaredPercentageError {
    fn score(&self, numbers: &Numbers) -> f64 {
        let rows: Vec<usize> = (0..numbers.truth.len())
            .filter(|row| numbers.truth.get(*row) != Some(&0.0))
            .collect();
        let errors = numbers.errors(|truth, predicted| {
            let error = (truth - predicted) / truth;
            error * error
        });
        let weights = numbers.weights.as_ref();
        let weights = weights.map(|weights| select(weights, &rows));
        mean_by(&select(&errors, &rows), weights.as_deref()).sqrt()
    }
}

pub(super) const R2: MetricKind = MetricKind::higher::<OfColumns<R2Score>>(Definition {
    name: "r2",
    summary: "Coefficient of determination; for several columns, the mean of their scores.",
    details: "The score is 1 - sum(w (true - predicted)^2) / sum(w (true - m)^2), where w is the weight of a row \
              (default 1), and m is the weighted mean of the true values.\n\n\
              If all true values are equal, the score is 1 for a perfect prediction and 0 otherwise. If there are fewer \
              than two rows, the score is NaN. Missing and infinite values are invalid.",
    source: "sklearn.metrics.r2_score",
    shorthand: Some("columns"),
    parameters: &[COLUMNS, ROW_WEIGHTS, POOLED],
});

#[derive(Debug, Deserialize)]
struct R2Score {}

impl OfNumbers for R2Score {
    const READ: ReadNumbers<'static> = &both_floats;

    fn score(&self, numbers: &Numbers) -> f64 {
        let centre = numbers.mean(&numbers.truth);
        let total = |errors: Vec<f64>| match &numbers.weights {
            None => sum(&errors),
            Some(weights) => {
                let rows = errors.iter().zip(weights);
                sum(&rows.map(|(error, w)| w * error).collect::<Vec<f64>>())
            }
        };
        let residual = total(numbers.errors(|truth, predicted| (truth - predicted).powi(2)));
        let variance = total(numbers.errors(|truth, _| (truth - centre).powi(2)));
        match () {
            () if numbers.truth.len() < 2 => f64::NAN,
            () if residual == 0.0 => 1.0,
            () if variance == 0.0 => 0.0,
            () => 1.0 - residual / variance,
        }
    }
}

pub(super) const ROOT_MEAN_SQUARED_LOG_ERROR: MetricKind = MetricKind::lower::<
    RootMeanSquaredLogError,
>(Definition {
    name: "root_mean_squared_log_error",
    summary: "Root mean squared difference of ln(1 + x); for several columns, the mean of their scores.",
    details: "The score is sqrt(mean((ln(1 + true) - ln(1 + predicted))^2)). Negative, missing and infinite values are \
              invalid, but `-0.0` is valid. Booleans are treated as 0 and 1, and their logarithms are computed in half \
              precision, as in NumPy.",
    source: "sklearn.metrics.root_mean_squared_log_error",
    shorthand: Some("columns"),
    parameters: &[
        COLUMNS,
        ROW_WEIGHTS,
        SQUARED,
        POOLED,
        optional(
            "clip_below",
            KeyType::Number,
            "Predictions below this number are replaced by it. The number must be at least 0. Without this key, \
             negative predictions are invalid.",
        ),
    ],
});

#[derive(Debug, Deserialize)]
struct RootMeanSquaredLogError {
    #[serde(flatten)]
    compared: Compared,
    #[serde(default)]
    squared: bool,
    #[serde(default, deserialize_with = "parse_clip")]
    clip_below: Option<f64>,
}

fn parse_clip<'de, D: Deserializer<'de>>(bound: D) -> Result<Option<f64>, D::Error> {
    let bound = f64::deserialize(bound)?;
    match bound >= 0.0 {
        true => Ok(Some(bound)),
        false => Err(D::Error::custom("`clip_below` must be at least 0")),
    }
}

impl Metric for RootMeanSquaredLogError {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let read = |truth: &GradedColumn<'_>, predicted: &GradedColumn<'_>| {
            let predicted = logarithms(predicted, self.clip_below)?;
            Ok((logarithms(truth, None)?, predicted))
        };
        self.compared.score(pair, &read, |numbers| {
            root_unless(self.squared, numbers.mean_square())
        })
    }

    fn cell(&self) -> Option<&'static str> {
        match self.clip_below {
            Some(_) => Some(FINITE),
            None => Some("a finite number that is not negative"),
        }
    }
}

/// ln 2 rounded to eleven bits, because NumPy computes the logarithm of a boolean in half precision.
const LN_2_HALF: f64 = 0.693_359_375;

fn logarithms(column: &GradedColumn<'_>, lowest: Option<f64>) -> Result<Vec<f64>, Refusal> {
    let mut values = floats(column)?;
    if let Some(lowest) = lowest {
        for value in &mut values {
            *value = value.max(lowest);
        }
    } else if matches!(column.data(), ColumnData::Bool(_)) {
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
        details: "The score is mean(-sqrt(2) d / s - ln(sqrt(2) s)), with d = min(|true - predicted|, `max_error`) and \
              s = max(`deviation`, `min_deviation`). Text is invalid. Booleans are treated as 0 and 1.\n\n\
              If a true value, a prediction or a deviation is missing, or if there are no rows, the score is NaN. If a \
              prediction is infinite, d is `max_error`. If a deviation is infinite, the log likelihood of the row is \
              minus infinity.",
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
                "The lower bound, which replaces smaller standard deviations.",
            ),
            required(
                "max_error",
                KeyType::Number,
                "The upper bound, which replaces larger errors.",
            ),
        ],
    },
)
.without_best_score();

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

/// Returns the minimum or maximum of `value` and `by`: `bound` is `f64::min` or `f64::max`. If `value` is NaN, returns
/// NaN, as in NumPy.
fn keep_nan(value: f64, bound: fn(f64, f64) -> f64, by: f64) -> f64 {
    if value.is_nan() {
        value
    } else {
        bound(value, by)
    }
}
