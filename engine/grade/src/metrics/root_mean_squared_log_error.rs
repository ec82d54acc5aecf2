//! `root_mean_squared_log_error`: root mean squared difference of logarithms.

use prep_formats::pandas::ColumnData;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use super::label_pair::{COLUMNS, mean_over};
use super::root_mean_squared_error::root_mean_square;
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::Definition;
use crate::table::numbers::{ColumnSelection, floats};
use crate::table::pair::{GradedColumn, Pair};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "root_mean_squared_log_error",
        summary: "Root mean squared difference of ln(1 + x); for several columns, the mean of their scores.",
        details: "sqrt(mean((ln(1 + true) - ln(1 + predicted))^2)). Negative, missing and infinite values are \
                  invalid; `-0.0` is not negative. Booleans are treated as 0 and 1, with logarithms in half precision \
                  as in NumPy.",
        source: "sklearn.metrics.root_mean_squared_log_error",
        shorthand: Some("columns"),
        parameters: &[COLUMNS],
    },
    direction: Direction::LowerIsBetter,
    parse: parse::<RootMeanSquaredLogError>,
};

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
