//! `mean_absolute_error`.

use serde::Deserialize;

use super::per_column::{COLUMNS, mean_over};
use super::{Direction, Metric, MetricKind, Score, parse};
use crate::columns::Columns;
use crate::definition::Definition;
use crate::numbers::differences;
use crate::numeric::mean;
use crate::pair::Pair;
use crate::refusal::Refusal;

pub(super) static KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "mean_absolute_error",
        summary: "Mean absolute difference; for several columns the plain mean of theirs.",
        details: "mean(|true - predicted|). Missing and infinite values are refused; a sum beyond the doubles makes the \
                  score infinite.",
        source: "sklearn.metrics.mean_absolute_error",
        shorthand: Some("columns"),
        parameters: &[COLUMNS],
    },
    direction: Direction::LowerIsBetter,
    parse: parse::<MeanAbsoluteError>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeanAbsoluteError {
    columns: Columns,
}

impl Metric for MeanAbsoluteError {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        mean_over(&self.columns, pair, |truth, predicted| {
            let errors = differences(truth, predicted)?;
            Ok(mean(
                &errors.into_iter().map(f64::abs).collect::<Vec<f64>>(),
            ))
        })
    }

    fn columns(&self) -> Vec<&str> {
        self.columns.named()
    }
}
