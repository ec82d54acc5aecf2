//! `laplace_log_likelihood`: predicted values with predicted standard deviations.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::mean;
use crate::refusal::Refusal;
use crate::spec::definition::{Definition, column, required};
use crate::table::numbers::doubles;
use crate::table::pair::Pair;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
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
    direction: Direction::HigherIsBetter,
    parse: parse::<LaplaceLogLikelihood>,
};

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
