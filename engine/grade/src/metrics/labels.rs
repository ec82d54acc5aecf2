//! Metrics that compare labels.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::Hash;

use prep_formats::pandas::ColumnData;
use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{COLUMN, COLUMNS, LABEL, LABELS, LabelPair, POSITIVE, ROW_WEIGHTS};
use super::kind::{Direction, Metric, MetricKind, Score, TRUTH, mean_by, row_weights};
use crate::python::{mean, sum_of, weighted_mean};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, optional, required};
use crate::table::column::GradedColumn;
use crate::table::numbers::{ColumnSelection, finite};
use crate::table::pair::Pair;
use crate::table::target::{LABELS_AS, Labels, LabelsAs, PositiveLabel};

pub(super) const ACCURACY: MetricKind = MetricKind::higher::<Accuracy>(Definition {
    name: "accuracy",
    summary: "The fraction of rows whose label is correct.",
    details: "Numbers are compared by value, so `1` equals `1.0`. Booleans are treated as 0 and 1. Fractions, infinite \
              and missing labels are invalid.\n\n\
              Text never equals a number. Therefore, if the labels of only one table are text, the score is 0. But if \
              each of the two tables has at most two different labels, such a submission is invalid.",
    source: "sklearn.metrics.accuracy_score",
    shorthand: Some("column"),
    parameters: &[
        COLUMN,
        optional(
            "labels_as",
            KeyType::Choice(LABELS_AS),
            "`column` (default): labels are not converted; `list`: if one label is text, all labels become text, as \
                  in NumPy's conversion of a list; `text`: all labels are converted to text, and a missing label is \
                  `nan`; `integer`: each label is converted with Python's `int`; `first_integer`: a label is an \
                  integer, or a text whose first word is converted with `int`.",
        ),
        ROW_WEIGHTS,
    ],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Accuracy {
    column: String,
    #[serde(default)]
    labels_as: LabelsAs,
    row_weights: Option<String>,
}

impl Metric for Accuracy {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let right = correct(pair, &self.column, self.labels_as)?;
        let weights = row_weights(pair, self.row_weights.as_deref())?;
        Ok(Score::python(mean_by(&right, weights.as_deref())))
    }

    fn cell(&self) -> Option<&'static str> {
        (self.labels_as == LabelsAs::Column).then_some(LABEL)
    }
}

/// Returns 1 for each row whose label is correct, and 0 for each other row.
fn correct(pair: &Pair<'_>, column: &str, labels_as: LabelsAs) -> Result<Vec<f64>, Refusal> {
    let both = LabelPair::new(pair, column, labels_as)?;
    let (truth, labels) = (&both.truth, &both.labels);
    let right = match (truth, labels) {
        (Labels::Integers(a), Labels::Integers(b)) => matches(a, b).map(f64::from).collect(),
        (Labels::Text(a), Labels::Text(b)) => matches(a, b).map(f64::from).collect(),
        // NumPy converts a list with a string to an array of strings. Comparing such an array with numbers is not an error,
        // but no label equals a number.
        (Labels::Integers(_), Labels::Text(_)) if labels_as == LabelsAs::List => {
            vec![0.0; truth.len()]
        }
        _ if truth.is_binary() && labels.is_binary() => {
            return Err(both.mixed());
        }
        _ => vec![0.0; truth.len()],
    };
    Ok(right)
}

fn matches<T: PartialEq>(a: &[T], b: &[T]) -> impl Iterator<Item = bool> {
    a.iter().zip(b).map(|(a, b)| a == b)
}

fn equal_count<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    matches(a, b).filter(|equal| *equal).count()
}

pub(super) const ZERO_ONE_LOSS: MetricKind = MetricKind::lower::<ZeroOneLoss>(Definition {
    name: "zero_one_loss",
    summary: "The fraction of rows whose label is wrong.",
    details: "The score is 1 - accuracy. Labels are read as in `accuracy`.",
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
        let right = correct(pair, &self.column, self.labels_as)?;
        Ok(Score::python(1.0 - mean(&right)))
    }
}

pub(super) const BALANCED_ACCURACY: MetricKind = MetricKind::higher::<BalancedAccuracy>(
    Definition {
        name: "balanced_accuracy",
        summary: "Mean over the answers' labels of the fraction of their rows whose label is correct; for several \
              columns, the mean of their scores.",
        details: "Labels are read as in `accuracy`, but if the labels of only one table are text, the submission is \
                  invalid.",
        source: "sklearn.metrics.balanced_accuracy_score",
        shorthand: Some("columns"),
        parameters: &[COLUMNS, LABELS],
    },
);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BalancedAccuracy {
    columns: ColumnSelection,
    #[serde(default)]
    labels_as: LabelsAs,
}

impl Metric for BalancedAccuracy {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let scores = self.columns.select(pair).into_iter().map(|name| {
            pair.cells(name)?;
            let recalls: Vec<f64> = label_counts(pair, name, self.labels_as)?
                .iter()
                .filter(|counts| counts.truth > 0)
                .map(|counts| counts.hits as f64 / counts.truth as f64)
                .collect();
            Ok(mean(&recalls))
        });
        let scores = scores.collect::<Result<Vec<f64>, Refusal>>()?;
        Ok(Score::numpy(mean(&scores)))
    }

    fn cell(&self) -> Option<&'static str> {
        (self.labels_as == LabelsAs::Column).then_some(LABEL)
    }
}

/// For one label: how many rows have it as true label (`truth`), as predicted label (`predicted`), and as both (`hits`).
/// For the average over samples: the same counts for one row, over its columns.
#[derive(Debug, Default, Clone, Copy)]
struct LabelCounts {
    hits: u64,
    truth: u64,
    predicted: u64,
}

impl LabelCounts {
    fn add(&mut self, truth: bool, predicted: bool) {
        self.hits += u64::from(truth && predicted);
        self.truth += u64::from(truth);
        self.predicted += u64::from(predicted);
    }

    fn f1(self) -> f64 {
        match self.truth + self.predicted {
            0 => 0.0,
            all => 2.0 * self.hits as f64 / all as f64,
        }
    }
}

/// Returns one [`LabelCounts`] for each label that occurs in either table, in the order of the labels. Fails if only one
/// table's labels are text.
fn label_counts(
    pair: &Pair<'_>,
    column: &str,
    labels_as: LabelsAs,
) -> Result<Vec<LabelCounts>, Refusal> {
    let both = LabelPair::new(pair, column, labels_as)?;
    match (&both.truth, &both.labels) {
        (Labels::Integers(a), Labels::Integers(b)) => Ok(count_labels(a, b)),
        (Labels::Text(a), Labels::Text(b)) => Ok(count_labels(a, b)),
        _ => Err(both.mixed()),
    }
}

fn count_labels<T: Ord + Hash>(truth: &[T], labels: &[T]) -> Vec<LabelCounts> {
    let mut counts: HashMap<&T, LabelCounts> = HashMap::new();
    for (a, b) in truth.iter().zip(labels) {
        counts.entry(a).or_default().add(true, a == b);
        if a != b {
            counts.entry(b).or_default().add(false, true);
        }
    }
    let mut classes: Vec<_> = counts.into_iter().collect();
    classes.sort_unstable_by(|a, b| a.0.cmp(b.0));
    classes.into_iter().map(|(_, counts)| counts).collect()
}

pub(super) const F1: MetricKind = MetricKind {
    definition: Definition {
        name: "f1",
        summary: "F1 over the labels of truth and prediction, one label per row.",
        details: "The F1 of a label is 2 TP / (2 TP + FP + FN), or 0 if TP is 0.\n\n\
                  With `column`, each row has one label. Labels are read as in `accuracy`, with one difference: if the \
                  labels of only one table are text, the submission is invalid. With `columns`, a row can have several \
                  labels. Each column belongs to a label, and contains 1 in the rows that have the label, and 0 in all \
                  other rows.\n\n\
                  The key `average` defines the score. `macro` is the mean over all labels that occur in either table, \
                  or over all columns. `micro` is computed from the sums of TP, FP and FN over all labels. If each row \
                  has one label, `micro` equals the accuracy. `weighted` is the mean over the labels, where the weight \
                  of a label is its number of rows in the answers.\n\n\
                  `binary` is the F1 of the label in the key `positive`. If both tables together have more than two \
                  labels, the submission is invalid. `samples` computes an F1 from the labels of each row, and takes \
                  the mean over the rows. A row that has neither true nor predicted labels has the F1 0.",
        source: "sklearn.metrics.f1_score",
        shorthand: None,
        parameters: &[
            optional(
                "column",
                KeyType::Column,
                "The column of labels. Not together with `columns`.",
            ),
            optional(
                "columns",
                KeyType::Selection,
                "Two or more columns of 0 and 1. Not together with `column`.",
            ),
            required(
                "average",
                KeyType::Choice(&["micro", "macro", "weighted", "binary", "samples"]),
                "How the scores of the labels are combined. `binary` needs `column`, `samples` needs `columns`.",
            ),
            POSITIVE,
            LABELS,
        ],
    },
    direction: Direction::HigherIsBetter,
    best_score: Some(1.0),
    truth: TRUTH,
    parse: |value| {
        let metric: F1Score = serde_json::from_value(value)?;
        metric.check().map_err(serde::de::Error::custom)?;
        Ok(Box::new(metric))
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LabelAverage {
    Micro,
    Macro,
    Weighted,
    Binary,
    Samples,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct F1Score {
    column: Option<String>,
    columns: Option<ColumnSelection>,
    average: LabelAverage,
    #[serde(default)]
    positive: PositiveLabel,
    #[serde(default)]
    labels_as: LabelsAs,
}

impl Metric for F1Score {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let value = match (&self.column, &self.columns) {
            (Some(column), _) if self.average == LabelAverage::Binary => {
                self.of_positive(pair, column)?
            }
            (Some(column), _) => self.combine(&label_counts(pair, column, self.labels_as)?),
            (None, Some(columns)) => self.of_columns(pair, columns)?,
            (None, None) => f64::NAN,
        };
        Ok(Score::numpy(value))
    }

    fn cell(&self) -> Option<&'static str> {
        match &self.columns {
            Some(_) => Some("0 or 1"),
            None => (self.labels_as == LabelsAs::Column).then_some(LABEL),
        }
    }

    fn meaning(&self) -> Option<&'static str> {
        let is_per_label = self.columns.is_some();
        is_per_label
            .then_some("1 means that the row has the label of the column, and 0 that it does not.")
    }

    fn imperfection(&self) -> Option<&'static str> {
        (self.average == LabelAverage::Samples)
            .then_some("with `average: samples`, a row without labels has the score 0")
    }

    fn summary(&self) -> Option<&'static str> {
        Some(match (&self.columns, self.average) {
            (_, LabelAverage::Samples) => {
                "Mean over rows of the F1 of a row's labels. Each column is a label, and a row can have several labels. A \
                 row that has neither true nor predicted labels has the F1 0."
            }
            (Some(_), LabelAverage::Micro) => {
                "F1 of all labels together: hits and errors are added up over the columns. Each column is a label, and a row \
                 can have several labels."
            }
            (Some(_), LabelAverage::Weighted) => {
                "Mean F1 of the labels, weighted by their numbers of rows. Each column is a label, and a row can have several \
                 labels."
            }
            (Some(_), _) => {
                "Mean F1 of the labels, all with the same weight. Each column is a label, and a row can have several labels."
            }
            (None, LabelAverage::Micro) => {
                "F1 of all labels together. Each row has one label, so this is the fraction of rows with the correct label."
            }
            (None, LabelAverage::Weighted) => {
                "Mean F1 of the labels, weighted by their numbers of rows. Each row has one label."
            }
            (None, LabelAverage::Binary) => {
                "F1 of the label in `positive` (default: 1). Each row has one of two labels."
            }
            (None, _) => "Mean F1 of the labels, all with the same weight. Each row has one label.",
        })
    }
}

impl F1Score {
    fn check(&self) -> Result<(), &'static str> {
        match (&self.column, &self.columns, self.average) {
            (None, None, _) => Err("`column` is missing"),
            (Some(_), Some(_), _) => Err("use either `column` or `columns`, not both"),
            (Some(_), None, LabelAverage::Samples) => Err("`samples` needs `columns`"),
            (None, Some(_), LabelAverage::Binary) => Err("`binary` needs `column`"),
            _ => Ok(()),
        }
    }

    fn combine(&self, counts: &[LabelCounts]) -> f64 {
        let scores: Vec<f64> = counts.iter().map(|counts| counts.f1()).collect();
        let weights: Vec<f64> = counts.iter().map(|counts| counts.truth as f64).collect();
        match self.average {
            LabelAverage::Micro => {
                let sum = |of: fn(&LabelCounts) -> u64| counts.iter().map(of).sum();
                let all = LabelCounts {
                    hits: sum(|counts| counts.hits),
                    truth: sum(|counts| counts.truth),
                    predicted: sum(|counts| counts.predicted),
                };
                all.f1()
            }
            LabelAverage::Weighted if weights.iter().any(|weight| *weight > 0.0) => {
                weighted_mean(&scores, &weights)
            }
            _ => mean(&scores),
        }
    }

    fn of_positive(&self, pair: &Pair<'_>, column: &str) -> Result<f64, Refusal> {
        let both = LabelPair::new(pair, column, self.labels_as)?;
        let odd = match (&both.truth, &both.labels) {
            (Labels::Integers(a), Labels::Integers(b)) => self.third_label(a, b),
            (Labels::Text(a), Labels::Text(b)) => self.third_label(a, b),
            _ => return Err(both.mixed()),
        };
        match odd {
            ThirdLabel::None => {}
            ThirdLabel::Answers => {
                let message = "the answers must have at most two labels; if there are two, `positive` must name one of them";
                return Err(Refusal::new(RefusalKind::Answers, message).in_column(column));
            }
            ThirdLabel::Submission(row) => {
                let expected = "one of two labels";
                return Err(both.prediction.refuse(RefusalKind::Range, row, expected));
            }
        }
        let mut counts = LabelCounts::default();
        let truth = both.truth.equal_to(&self.positive);
        for (truth, label) in truth.into_iter().zip(both.labels.equal_to(&self.positive)) {
            counts.add(truth, label);
        }
        Ok(counts.f1())
    }

    /// Finds a label for which binary F1 is undefined. Binary F1 is defined if both tables together have only one
    /// label. It is also defined if they have two labels and one of these is `positive`.
    fn third_label<T: Ord>(&self, truth: &[T], labels: &[T]) -> ThirdLabel
    where
        PositiveLabel: PartialEq<T>,
    {
        let is_defined = |labels: &BTreeSet<&T>| {
            labels.len() < 2
                || (labels.len() == 2 && labels.iter().any(|one| self.positive == **one))
        };
        let known: BTreeSet<&T> = truth.iter().collect();
        let both: BTreeSet<&T> = truth.iter().chain(labels).collect();
        if !is_defined(&known) {
            return ThirdLabel::Answers;
        }
        let is_odd = |label: &T| !known.contains(label) && self.positive != *label;
        match labels.iter().position(is_odd) {
            Some(row) if !is_defined(&both) => ThirdLabel::Submission(row),
            _ => ThirdLabel::None,
        }
    }

    fn of_columns(&self, pair: &Pair<'_>, columns: &ColumnSelection) -> Result<f64, Refusal> {
        let names = columns.select(pair);
        if names.len() < 2 {
            let message = "the metric needs at least two columns of labels";
            return Err(Refusal::new(RefusalKind::Answers, message));
        }
        let mut of_rows = vec![LabelCounts::default(); pair.answers.len()];
        let mut of_columns = Vec::with_capacity(names.len());
        for name in names {
            let (answers, prediction) = pair.cells(name)?;
            let (truth, labels) = (zeros_and_ones(&answers)?, zeros_and_ones(&prediction)?);
            let mut counts = LabelCounts::default();
            for ((row, truth), label) in of_rows.iter_mut().zip(truth).zip(labels) {
                counts.add(truth, label);
                row.add(truth, label);
            }
            of_columns.push(counts);
        }
        Ok(match self.average {
            LabelAverage::Samples => self.combine(&of_rows),
            _ => self.combine(&of_columns),
        })
    }
}

/// A label for which binary F1 is undefined.
enum ThirdLabel {
    /// There is no such label, so binary F1 is defined.
    None,
    /// Binary F1 is already undefined for the labels of the answers.
    Answers,
    /// Contains the position of the label in the submission.
    Submission(usize),
}

fn zeros_and_ones(column: &GradedColumn<'_>) -> Result<Vec<bool>, Refusal> {
    column.map_cells(|row, value| match finite(column, row, value)? {
        0.0 => Ok(false),
        1.0 => Ok(true),
        _ => Err(column.refuse(RefusalKind::Range, row, "0 or 1")),
    })
}

pub(super) const MATTHEWS_CORRCOEF: MetricKind = MetricKind::higher::<MatthewsCorrcoef>(
    Definition {
        name: "matthews_corrcoef",
        summary: "Matthews' correlation coefficient of the labels, for any number of classes.",
        details: "The score is (c s - sum(t p)) / sqrt((s^2 - sum(t^2)) (s^2 - sum(p^2))), or 0 if the denominator is \
              0. c is the number of correct rows, and s the number of all rows.\n\n\
              The sums are over the classes, where t is the number of rows whose true label is the class, and p the \
              number of rows whose predicted label is the class. Labels are read as in `f1` without `labels_as`.",
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
    details: "The score is 1 - sum(w O) / sum(w E). The sums are over all pairs of a true and a predicted label. If \
              both tables together have only one label, the score is NaN.\n\n\
              O is the number of rows with this pair of labels. E is the number of such rows expected by chance: the \
              number of rows with the true label, times the number of rows with the predicted label, divided by the \
              number of all rows.\n\n\
              The weight w of a pair of equal labels is 0. For different labels, the weight is 1, or their distance in \
              the sorted list of all labels of both tables (`linear`), or the square of this distance (`quadratic`).",
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
                // Booleans fit into every integer type, so NumPy needs no doubles if the true labels are booleans.
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

/// Maximum number of classes for a metric that compares pairs of classes. With more classes, the metric would take longer
/// than the rest of grading.
const MAX_CLASSES: usize = 8_192;

/// Returns whether scikit-learn converts labels to doubles, which lose digits of large integers.
///
/// NumPy has no integer type that covers both `int64` and `uint64`. Therefore scikit-learn converts all labels to doubles if
/// a prediction is too large for `int64` and a true label is not among the predictions. scikit-learn then leaves out each
/// row with a label that a double cannot represent exactly.
fn loses_digits(predicted: &[i128], truth: &[i128]) -> bool {
    if !predicted.iter().any(|label| *label > i128::from(i64::MAX)) {
        return false;
    }
    let known: HashSet<i128> = predicted.iter().copied().collect();
    truth.iter().any(|label| !known.contains(label))
}

/// Returns Cohen's kappa of two lists of labels, which must have the same length. Leaves out a pair of labels if `counted`
/// returns false for this pair. Returns `None` for more than 8,192 different labels.
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
    // Kappa is computed from two matrices with a cell for each pair of classes. Neither matrix is stored, because a
    // submission can contain many classes. Only cells of the observed matrix that are not zero are added up.
    pairs.sort_unstable();
    let mut disagreement = 0.0;
    for same in pairs.chunk_by(|one, other| one == other) {
        if let Some(&(i, j)) = same.first() {
            disagreement += (weight(i, j) * same.len() as u64) as f64;
        }
    }
    // Like NumPy's outer product, multiply row sum and column sum as integers, and divide once.
    let (weight, total) = (&weight, total);
    let expected = columns.iter().enumerate().flat_map(|(i, column)| {
        let row = rows.iter().enumerate();
        row.map(move |(j, row)| weight(i, j) as f64 * ((column * row) as f64 / total))
    });
    Some(1.0 - disagreement / sum_of(expected))
}
