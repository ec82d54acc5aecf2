//! `zero_one_loss`: the fraction of wrong labels.

use serde::Deserialize;

use super::accuracy::fraction_correct;
use super::kind::{Direction, Metric, MetricKind, Score, parse};
use super::label_pair::{COLUMN, LABELS};
use crate::refusal::Refusal;
use crate::spec::definition::Definition;
use crate::table::pair::Pair;
use crate::table::target::LabelsAs;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "zero_one_loss",
        summary: "The fraction of rows whose label is wrong.",
        details: "1 - accuracy. Labels are read as in `accuracy`.",
        source: "sklearn.metrics.zero_one_loss",
        shorthand: Some("column"),
        parameters: &[COLUMN, LABELS],
    },
    direction: Direction::LowerIsBetter,
    parse: parse::<ZeroOneLoss>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ZeroOneLoss {
    column: String,
    #[serde(default)]
    labels_as: LabelsAs,
}

impl Metric for ZeroOneLoss {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let right = fraction_correct(pair, &self.column, self.labels_as)?;
        Ok(Score::python(1.0 - right))
    }
}
