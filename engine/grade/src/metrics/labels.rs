//! Metrics that compare labels.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

use prep_formats::pandas::ColumnData;
use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{COLUMN, LABELS, LabelPair};
use super::kind::{Metric, MetricKind, Score};
use crate::python::{mean, sum_of};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, optional, required};
use crate::table::pair::Pair;
use crate::table::target::{LABELS_AS, Labels, LabelsAs};

pub(super) const ACCURACY: MetricKind = MetricKind::higher::<Accuracy>(Definition {
    name: "accuracy",
    summary: "The fraction of rows whose label is correct.",
    details: "Integers are compared by value, so `1` equals `1.0`; booleans are 0 and 1. Fractions, infinite and \
              missing labels are invalid. Text never equals a number. If the labels of only one table are text, \
              the score is 0, except that the submission is invalid if neither table has more than two different \
              labels.",
    source: "sklearn.metrics.accuracy_score",
    shorthand: Some("column"),
    parameters: &[
        COLUMN,
        optional(
            "labels_as",
            KeyType::Choice(LABELS_AS),
            "`list`: like NumPy's conversion of a list, where one text makes all labels text; `text`: all \
                  labels are converted to text, and a missing label is `nan`; `integer`: each label is converted \
                  with Python's `int`; `first_integer`: an integer, or the first word of a text converted with \
                  `int`.",
        ),
    ],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Accuracy {
    column: String,
    #[serde(default)]
    labels_as: LabelsAs,
}

impl Metric for Accuracy {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        fraction_correct(pair, &self.column, self.labels_as).map(Score::python)
    }
}

/// Returns the fraction of rows with the correct label.
pub(super) fn fraction_correct(
    pair: &Pair<'_>,
    column: &str,
    labels_as: LabelsAs,
) -> Result<f64, Refusal> {
    let both = LabelPair::new(pair, column, labels_as)?;
    let (truth, labels) = (&both.truth, &both.labels);
    let right = match (truth, labels) {
        (Labels::Integers(a), Labels::Integers(b)) => equal_count(a, b),
        (Labels::Text(a), Labels::Text(b)) => equal_count(a, b),
        // NumPy converts a list that contains texts to an array of text, so both arrays of labels can be compared.
        (Labels::Integers(_), Labels::Text(_)) if labels_as == LabelsAs::List => 0,
        _ if truth.is_binary() && labels.is_binary() => {
            return Err(both.mixed());
        }
        _ => 0,
    };
    Ok(right as f64 / truth.len() as f64)
}

/// Returns the number of equal elements of two lists of the same length.
pub(super) fn equal_count<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a == b).count()
}

pub(super) const ZERO_ONE_LOSS: MetricKind = MetricKind::lower::<ZeroOneLoss>(Definition {
    name: "zero_one_loss",
    summary: "The fraction of rows whose label is wrong.",
    details: "1 - accuracy. Labels are read as in `accuracy`.",
    source: "sklearn.metrics.zero_one_loss",
    shorthand: Some("column"),
    parameters: &[COLUMN, LABELS],
});

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

pub(super) const F1: MetricKind = MetricKind::higher::<F1Score>(Definition {
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
});

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LabelAverage {
    Micro,
    Macro,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct F1Score {
    column: String,
    average: LabelAverage,
    #[serde(default)]
    labels_as: LabelsAs,
}

impl Metric for F1Score {
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

impl F1Score {
    fn average<T: Ord + Hash>(&self, truth: &[T], labels: &[T]) -> f64 {
        match self.average {
            LabelAverage::Micro => equal_count(truth, labels) as f64 / truth.len() as f64,
            LabelAverage::Macro => macro_f1(truth, labels),
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

pub(super) const MATTHEWS_CORRCOEF: MetricKind = MetricKind::higher::<MatthewsCorrcoef>(
    Definition {
        name: "matthews_corrcoef",
        summary: "Matthews' correlation coefficient of the labels, for any number of classes.",
        details: "(c s - sum(t p)) / sqrt((s^2 - sum(t^2)) (s^2 - sum(p^2))), where c is the number of correct rows, s \
              is the number of rows, and t and p are the numbers of rows for which a class is true or predicted. \
              The score is 0 if the denominator is 0. Labels are read as in `f1` without `labels_as`.",
        source: "sklearn.metrics.matthews_corrcoef",
        shorthand: Some("column"),
        parameters: &[COLUMN],
    },
);

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

pub(super) const COHEN_KAPPA: MetricKind = MetricKind::higher::<CohenKappa>(Definition {
    name: "cohen_kappa",
    summary: "Cohen's kappa: the agreement of two raters, corrected for agreement by chance.",
    details: "1 - sum(w O) / sum(w E). O is the number of rows for each pair of labels; E is the outer product of \
              the row and column sums of O, divided by the number of rows. The weight of a pair of equal labels is \
              0. The weight of two different labels is 1, or the difference (`linear`) or squared difference \
              (`quadratic`) of their positions in the sorted list of all labels of both tables. If there is only \
              one label, the value is NaN.",
    source: "sklearn.metrics.cohen_kappa_score",
    shorthand: Some("column"),
    parameters: &[
        COLUMN,
        optional(
            "weights",
            KeyType::Choice(&["none", "linear", "quadratic"]),
            "The weight of a disagreement; default `none`.",
        ),
    ],
});

/// The weight of a disagreement.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// 1 for all pairs of different labels.
    #[default]
    None,
    /// The distance between the positions of the labels.
    Linear,
    /// The square of the distance between the positions of the labels.
    Quadratic,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CohenKappa {
    column: String,
    #[serde(default)]
    weights: Weights,
}

impl Metric for CohenKappa {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let both = LabelPair::new(pair, &self.column, LabelsAs::Column)?;
        let value = match (&both.labels, &both.truth) {
            (Labels::Integers(a), Labels::Integers(b)) => {
                // Booleans fit into every integer type, so no digits are lost.
                let lossy =
                    !matches!(both.answers.data(), ColumnData::Bool(_)) && loses_digits(a, b);
                let counted = |label: &i128| !lossy || *label as f64 as i128 == *label;
                cohen_kappa(a, b, self.weights, |a, b| counted(a) && counted(b))
            }
            (Labels::Text(a), Labels::Text(b)) => cohen_kappa(a, b, self.weights, |_, _| true),
            _ => return Err(both.mixed()),
        };
        value.map(Score::numpy).ok_or_else(|| {
            let message =
                format!("too many different labels: at most {MAX_CLASSES} can be compared");
            Refusal::new(RefusalKind::Undefined, message).in_column(&self.column)
        })
    }
}

/// Maximum number of classes. With more classes, computing all pairs would take longer than the rest of grading.
const MAX_CLASSES: usize = 8_192;

/// Whether scikit-learn loses digits of labels. NumPy has no integer type that covers both `int64` and `uint64`. So if
/// the predictions need `uint64` and the truth contains labels that the predictions do not, scikit-learn's list of all
/// labels consists of doubles. Rows whose label is not equal to one of these doubles are left out.
fn loses_digits(predicted: &[i128], truth: &[i128]) -> bool {
    if !predicted.iter().any(|label| *label > i128::from(i64::MAX)) {
        return false;
    }
    let known: HashSet<i128> = predicted.iter().copied().collect();
    truth.iter().any(|label| !known.contains(label))
}

/// Returns Cohen's kappa of two lists of labels of the same length, over the rows that are `counted`. `None` for more
/// than 8,192 distinct labels.
pub fn cohen_kappa<T: Ord>(
    first: &[T],
    second: &[T],
    weights: Weights,
    counted: impl Fn(&T, &T) -> bool,
) -> Option<f64> {
    let mut classes: Vec<&T> = first.iter().chain(second).collect();
    classes.sort_unstable();
    classes.dedup();
    let n = classes.len();
    if n > MAX_CLASSES {
        return None;
    }
    let class = |label: &T| classes.partition_point(|other| *other < label);
    let mut pairs = Vec::with_capacity(first.len());
    let (mut rows, mut columns) = (vec![0u64; n], vec![0u64; n]);
    let mut total = 0.0;
    for (a, b) in first.iter().zip(second).filter(|(a, b)| counted(a, b)) {
        total += 1.0;
        let (a, b) = (class(a), class(b));
        pairs.push((a, b));
        rows[a] += 1;
        columns[b] += 1;
    }
    let weight = |i: usize, j: usize| {
        let distance = i.abs_diff(j) as u64;
        match weights {
            Weights::None => u64::from(distance > 0),
            Weights::Linear => distance,
            Weights::Quadratic => distance * distance,
        }
    };
    // A submission can contain any number of classes, so neither matrix is stored. The non-zero cells of the observed
    // matrix are added up in order. The cells of the expected matrix are added up as they are computed.
    pairs.sort_unstable();
    let mut disagreement = 0.0;
    for same in pairs.chunk_by(|one, other| one == other) {
        if let Some(&(i, j)) = same.first() {
            disagreement += (weight(i, j) * same.len() as u64) as f64;
        }
    }
    // The row sum and the column sum are multiplied as integers and divided once, as in NumPy's outer product.
    let (weight, total) = (&weight, total);
    let expected = columns.iter().enumerate().flat_map(|(i, column)| {
        let row = rows.iter().enumerate();
        row.map(move |(j, row)| weight(i, j) as f64 * ((column * row) as f64 / total))
    });
    Some(1.0 - disagreement / sum_of(expected))
}
