//! `f1`: harmonic mean of precision and recall.

use std::collections::HashMap;
use std::hash::Hash;

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::accuracy::equal_count;
use super::kind::{Direction, Metric, MetricKind, Score, parse};
use super::label_pair::{COLUMN, LABELS, LabelPair};
use crate::python::mean;
use crate::refusal::Refusal;
use crate::spec::definition::{Definition, required};
use crate::table::pair::Pair;
use crate::table::target::{Labels, LabelsAs};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "f1",
        summary: "F1 over the labels of truth and prediction, one label per row.",
        details: "F1 of a label is 2 TP / (2 TP + FP + FN), or 0 without TP. `macro`: the mean over all labels that \
                  occur in either table. `micro`: F1 of the summed counts, which equals the accuracy because each row \
                  has one label. Labels are read as in `accuracy`, but if the labels of only one table are text, the \
                  submission is invalid.",
        source: "sklearn.metrics.f1_score",
        shorthand: None,
        parameters: &[
            COLUMN,
            required(
                "average",
                KeyType::Choice(&["micro", "macro"]),
                "How the scores of the labels are combined.",
            ),
            LABELS,
        ],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<F1>,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Average {
    Micro,
    Macro,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct F1 {
    column: String,
    average: Average,
    #[serde(default)]
    labels_as: LabelsAs,
}

impl Metric for F1 {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let both = LabelPair::new(pair, &self.column, self.labels_as)?;
        let value = match (&both.truth, &both.labels) {
            (Labels::Integers(a), Labels::Integers(b)) => self.average(a, b),
            (Labels::Text(a), Labels::Text(b)) => self.average(a, b),
            _ => return Err(both.mixed()),
        };
        Ok(Score::numpy(value))
    }
}

impl F1 {
    fn average<T: Ord + Hash>(&self, truth: &[T], labels: &[T]) -> f64 {
        match self.average {
            Average::Micro => equal_count(truth, labels) as f64 / truth.len() as f64,
            Average::Macro => macro_f1(truth, labels),
        }
    }
}

fn macro_f1<T: Ord + Hash>(truth: &[T], labels: &[T]) -> f64 {
    // For each label: the number of hits, and the number of occurrences in both tables together.
    let mut counts: HashMap<&T, (u64, u64)> = HashMap::new();
    for (a, b) in truth.iter().zip(labels) {
        counts.entry(a).or_default().1 += 1;
        let predicted = counts.entry(b).or_default();
        predicted.1 += 1;
        predicted.0 += u64::from(a == b);
    }
    let mut classes: Vec<_> = counts.into_iter().collect();
    classes.sort_unstable_by(|a, b| a.0.cmp(b.0));
    let scores: Vec<f64> = classes
        .iter()
        .map(|(_, (hits, all))| 2.0 * *hits as f64 / *all as f64)
        .collect();
    mean(&scores)
}
