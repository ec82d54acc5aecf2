//! `root_mean_squared_error`: square root of the mean squared difference.

use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use super::label_pair::{COLUMNS, mean_over};
use crate::python::mean;
use crate::refusal::{Refusal, RowPolicy};
use crate::spec::definition::Definition;
use crate::table::numbers::{ColumnSelection, differences};
use crate::table::pair::Pair;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "root_mean_squared_error",
        summary: "Square root of the mean squared difference; for several columns, the mean of their scores.",
        details: "sqrt(mean((true - predicted)^2)). Missing and infinite values are invalid. If a square exceeds the \
                  range of doubles, the score is infinite.",
        source: "sklearn.metrics.root_mean_squared_error",
        shorthand: Some("columns"),
        parameters: &[COLUMNS],
    },
    direction: Direction::LowerIsBetter,
    parse: parse::<RootMeanSquaredError>,
};

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
