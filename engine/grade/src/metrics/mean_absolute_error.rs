//! `mean_absolute_error`.

use serde::Deserialize;

use super::groups::{at, groups};
use super::per_column::{COLUMNS, mean_over};
use super::{Direction, Metric, MetricKind, Score, parse};
use crate::python::numeric::mean;
use crate::refusal::{Refusal, RefusalKind};
use crate::rules::Rows;
use crate::spec::definition::{Definition, Parameter, ParameterKind};
use crate::table::columns::Columns;
use crate::table::numbers::differences;
use crate::table::pair::Pair;

pub(super) static KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "mean_absolute_error",
        summary: "Mean absolute difference; for several columns the plain mean of theirs.",
        details: "mean(|true - predicted|), of all rows or as the plain mean over groups. Missing and infinite values are refused; \
                  a sum beyond the doubles makes the score infinite. The logarithm of no error at all is minus infinity.",
        source: "sklearn.metrics.mean_absolute_error",
        shorthand: Some("columns"),
        parameters: &[
            COLUMNS,
            Parameter::optional(
                "groups",
                ParameterKind::Column,
                "The answers' column that tells groups of rows apart, which weigh the same; rows without a group do not count.",
            ),
            Parameter::optional(
                "logarithm",
                ParameterKind::Boolean,
                "Whether the natural logarithm of each group's error is taken before their mean.",
            ),
            Parameter::optional(
                "whole",
                ParameterKind::Boolean,
                "Whether the score is rounded to a whole number, halves to even; an infinite one is then refused.",
            ),
        ],
    },
    direction: Direction::LowerIsBetter,
    parse: parse::<MeanAbsoluteError>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeanAbsoluteError {
    columns: Columns,
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
                        .map(|group| self.of_group(&at(&errors, group)));
                    mean(&of_each.collect::<Vec<f64>>())
                }
            })
        })?;
        match self.whole {
            true if !score.value.is_finite() => {
                let message = "the error is beyond all numbers";
                Err(Refusal::new(RefusalKind::Undefined, message))
            }
            true => Ok(Score::python(score.value.round_ties_even())),
            false => Ok(score),
        }
    }

    fn rows(&self) -> Rows {
        Rows::Times(1)
    }
}

impl MeanAbsoluteError {
    fn of_group(&self, errors: &[f64]) -> f64 {
        let error = mean(errors);
        if self.logarithm { error.ln() } else { error }
    }
}
