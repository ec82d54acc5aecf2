//! `root_mean_squared_error`.

use serde::Deserialize;

use super::{Direction, Metric, MetricKind, Score, parse};
use crate::columns::Columns;
use crate::definition::{Definition, Parameter, ParameterKind};
use crate::numbers::differences;
use crate::numeric::mean;
use crate::pair::Pair;
use crate::refusal::Refusal;

pub(super) static KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "root_mean_squared_error",
        summary: "Square root of the mean squared difference; for several columns the plain mean of theirs.",
        details: "sqrt(mean((true - predicted)^2)). Missing and infinite values are refused; a square beyond the doubles \
                  makes the score infinite.",
        source: "sklearn.metrics.root_mean_squared_error",
        shorthand: Some("columns"),
        parameters: &[Parameter {
            name: "columns",
            kind: ParameterKind::Columns,
            required: true,
            doc: "The columns that are compared.",
        }],
    },
    direction: Direction::LowerIsBetter,
    parse: parse::<RootMeanSquaredError>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RootMeanSquaredError {
    columns: Columns,
}

impl Metric for RootMeanSquaredError {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let errors = self
            .columns
            .resolve(&pair.answers)
            .into_iter()
            .map(|name| {
                let errors =
                    differences(&pair.answers.column(name)?, &pair.submission.column(name)?)?;
                Ok(root_mean_square(&errors))
            })
            .collect::<Result<Vec<f64>, Refusal>>()?;
        Ok(Score::numpy(mean(&errors)))
    }

    fn columns(&self) -> Vec<&str> {
        self.columns.named()
    }
}

pub(super) fn root_mean_square(errors: &[f64]) -> f64 {
    let squares: Vec<f64> = errors.iter().map(|error| error * error).collect();
    mean(&squares).sqrt()
}
