//! `matthews_corrcoef`: correlation of true and predicted labels.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::accuracy::equal_count;
use super::kind::{Direction, Metric, MetricKind, Score, parse};
use super::label_pair::{COLUMN, LabelPair};
use crate::refusal::Refusal;
use crate::spec::definition::Definition;
use crate::table::pair::Pair;
use crate::table::target::{Labels, LabelsAs};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "matthews_corrcoef",
        summary: "Matthews' correlation coefficient of the labels, for any number of classes.",
        details: "(c s - sum(t p)) / sqrt((s^2 - sum(t^2)) (s^2 - sum(p^2))), where c is the number of correct rows, s \
                  is the number of rows, and t and p are the numbers of rows for which a class is true or predicted. \
                  The score is 0 if the denominator is 0. Labels are read as in `f1` without `labels_as`.",
        source: "sklearn.metrics.matthews_corrcoef",
        shorthand: Some("column"),
        parameters: &[COLUMN],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<MatthewsCorrcoef>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MatthewsCorrcoef {
    column: String,
}

impl Metric for MatthewsCorrcoef {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let both = LabelPair::new(pair, &self.column, LabelsAs::default())?;
        match (&both.truth, &both.labels) {
            (Labels::Integers(a), Labels::Integers(b)) => Ok(Score::numpy(correlation(a, b))),
            (Labels::Text(a), Labels::Text(b)) => Ok(Score::numpy(correlation(a, b))),
            _ => Err(both.mixed()),
        }
    }
}

fn correlation<T: Ord>(truth: &[T], predicted: &[T]) -> f64 {
    let mut counts: BTreeMap<&T, (f64, f64)> = BTreeMap::new();
    for (a, b) in truth.iter().zip(predicted) {
        counts.entry(a).or_default().0 += 1.0;
        counts.entry(b).or_default().1 += 1.0;
    }
    let sum = |term: fn(&(f64, f64)) -> f64| counts.values().map(term).sum::<f64>();
    let (rows, right) = (truth.len() as f64, equal_count(truth, predicted) as f64);
    let covariance = right * rows - sum(|(t, p)| t * p);
    let (of_truth, of_predicted) = (
        rows * rows - sum(|(t, _)| t * t),
        rows * rows - sum(|(_, p)| p * p),
    );
    if of_truth * of_predicted == 0.0 {
        0.0
    } else {
        covariance / (of_truth * of_predicted).sqrt()
    }
}
