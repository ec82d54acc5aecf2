//! `mean_absolute_error`: mean absolute difference.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use super::label_pair::{COLUMNS, groups, mean_over, select};
use crate::python::mean;
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, optional};
use crate::table::numbers::{ColumnSelection, differences};
use crate::table::pair::Pair;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
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
    direction: Direction::LowerIsBetter,
    parse: parse::<MeanAbsoluteError>,
};

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
