//! `mean_absolute_error`.

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
        name: "mean_absolute_error",
        summary: "Mean absolute difference; for several columns the plain mean of theirs.",
        details: "mean(|true - predicted|). Missing and infinite values are refused; a sum beyond the doubles makes the \
                  score infinite.",
        source: "sklearn.metrics.mean_absolute_error",
        shorthand: Some("columns"),
        parameters: &[Parameter {
            name: "columns",
            kind: ParameterKind::Columns,
            required: true,
            doc: "The columns that are compared.",
        }],
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
        pair.check_same_rows()?;
        let errors = self
            .columns
            .resolve(&pair.answers)
            .into_iter()
            .map(|name| {
                let errors =
                    differences(&pair.answers.column(name)?, &pair.submission.column(name)?)?;
                let errors: Vec<f64> = errors.into_iter().map(f64::abs).collect();
                Ok(mean(&errors))
            })
            .collect::<Result<Vec<f64>, Refusal>>()?;
        Ok(Score::numpy(mean(&errors)))
    }

    fn columns(&self) -> Vec<&str> {
        self.columns.named()
    }
}
