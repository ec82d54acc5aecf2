//! Metrics of predicted probabilities.

use std::collections::{BTreeMap, HashMap};

use prep_formats::pandas::ColumnData;
use prep_spec::words::{KeyType, SectionKey};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::kind::{
    CLASS_PROBABILITY, COLUMNS, FINITE, PROBABILITY, ROW_WEIGHTS, mean_by, mean_over, row_weights,
};
use super::kind::{Metric, MetricKind, Score};
use super::roc::larger_label;
use crate::python::mean;
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, column, columns, one, optional, required};
use crate::table::column::{CellValue, GradedColumn};
use crate::table::numbers::{
    ColumnSelection, check_numeric_type, doubles, finite, floats, number, number_or_nan,
};
use crate::table::pair::Pair;
use crate::table::target::{Labels, LabelsAs};

const CLASSES: SectionKey = columns(
    "columns",
    "The column with the probability of the answers' larger label, or one column per class.",
);

pub(super) const LOG_LOSS: MetricKind = MetricKind::lower::<LogLoss>(Definition {
    name: "log_loss",
    summary: "Mean over rows of -ln(p), where p is the predicted probability of the true class.",
    details: "p is clipped to [eps, 1 - eps]. With the default of `eps`, 2^-52, the loss of a row with a certain but \
              wrong prediction is 36.04365.\n\n\
              A single column of the submission contains the probability of the larger of the answers' two labels. If \
              there are several columns, each column belongs to a class, and the answers contain 1 for the true class \
              and 0 for the other classes.",
    source: "sklearn.metrics.log_loss (1.5)",
    shorthand: Some("columns"),
    parameters: &[
        CLASSES,
        optional(
            "eps",
            KeyType::Number,
            "Clips probabilities to [eps, 1 - eps]; default 2^-52.",
        ),
        optional(
            "normalise",
            KeyType::Boolean,
            "Whether the probabilities of a row are first divided by their sum. If so, a row whose sum is not above 0 \
             is invalid. Default: rows are not normalised to sum 1.",
        ),
        optional(
            "clip_first",
            KeyType::Number,
            "Clips probabilities to [clip_first, 1 - clip_first] before all other steps. With this key, infinite probabilities are valid.",
        ),
        ROW_WEIGHTS,
    ],
});

#[derive(Debug, Deserialize)]
struct LogLoss {
    columns: ColumnSelection,
    #[serde(default = "default_eps", deserialize_with = "parse_eps")]
    eps: f64,
    #[serde(flatten)]
    preparation: Preparation,
    row_weights: Option<String>,
}

fn default_eps() -> f64 {
    f64::EPSILON
}

fn parse_eps<'de, D: Deserializer<'de>>(eps: D) -> Result<f64, D::Error> {
    parse_bound(eps, "eps")
}

/// Parses a bound b. Probabilities are clipped to [b, 1 - b].
fn parse_bound<'de, D: Deserializer<'de>>(value: D, name: &str) -> Result<f64, D::Error> {
    let value = f64::deserialize(value)?;
    match value > 0.0 && value < 0.5 {
        true => Ok(value),
        false => Err(D::Error::custom(format!(
            "`{name}` must be above 0 and below 0.5"
        ))),
    }
}

impl Metric for LogLoss {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let classes = Classes::read(pair, &self.columns, &self.preparation)?;
        let weights = row_weights(pair, self.row_weights.as_deref())?;
        let losses = row_losses(&classes.truth, &classes.predicted, self.eps);
        Ok(Score::python(mean_by(&losses, weights.as_deref())))
    }

    fn rows(&self) -> RowPolicy {
        RowPolicy::Times(1)
    }

    fn max_classes(&self) -> Option<usize> {
        Some(1)
    }

    fn cell(&self) -> Option<&'static str> {
        self.preparation.clip_first.is_none().then_some(FINITE)
    }

    fn meaning(&self) -> Option<&'static str> {
        Some(meaning(&self.columns))
    }
}

pub(super) const BALANCED_LOG_LOSS: MetricKind = MetricKind::lower::<BalancedLogLoss>(Definition {
    name: "balanced_log_loss",
    summary: "Mean over classes of the mean of -ln(p) over the rows of the class, where p is the predicted probability \
              of the true class.",
    details: "The probabilities of a row are divided by their sum, and p is then clipped to [eps, 1 - eps]. If the sum \
              of a row is not above 0, the submission is invalid.\n\n\
              The answers must contain a row of each class. The columns have the same meaning as in `log_loss`.",
    source: "Kaggle's evaluation of ICR - Identifying Age-Related Conditions",
    shorthand: Some("columns"),
    parameters: &[
        CLASSES,
        optional(
            "eps",
            KeyType::Number,
            "Clips probabilities to [eps, 1 - eps]; default 1e-15.",
        ),
    ],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BalancedLogLoss {
    columns: ColumnSelection,
    #[serde(default = "default_clip", deserialize_with = "parse_eps")]
    eps: f64,
}

impl Metric for BalancedLogLoss {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let preparation = Preparation {
            normalise: true,
            clip_first: None,
        };
        let Classes { truth, predicted } = Classes::read(pair, &self.columns, &preparation)?;
        let losses = row_losses(&truth, &predicted, self.eps);
        let mut of_classes = Vec::with_capacity(truth.len());
        for class in &truth {
            let rows = losses.iter().zip(class).filter(|(_, truth)| **truth != 0.0);
            let of_class: Vec<f64> = rows.map(|(loss, _)| *loss).collect();
            if of_class.is_empty() {
                let message = "the answers need a row of each class";
                return Err(Refusal::new(RefusalKind::Answers, message));
            }
            of_classes.push(mean(&of_class));
        }
        Ok(Score::numpy(mean(&of_classes)))
    }

    fn rows(&self) -> RowPolicy {
        RowPolicy::Times(1)
    }

    fn max_classes(&self) -> Option<usize> {
        Some(1)
    }

    fn cell(&self) -> Option<&'static str> {
        Some(FINITE)
    }

    fn meaning(&self) -> Option<&'static str> {
        Some(meaning(&self.columns))
    }
}

/// See [`Metric::meaning`]. Returns the sentence for log losses.
fn meaning(columns: &ColumnSelection) -> &'static str {
    match columns {
        ColumnSelection::One(_) => PROBABILITY,
        ColumnSelection::Many(names) if names.len() == 1 => PROBABILITY,
        _ => CLASS_PROBABILITY,
    }
}

#[derive(Debug, Deserialize)]
struct Preparation {
    #[serde(default)]
    normalise: bool,
    #[serde(default, deserialize_with = "parse_clip_first")]
    clip_first: Option<f64>,
}

fn parse_clip_first<'de, D: Deserializer<'de>>(bound: D) -> Result<Option<f64>, D::Error> {
    parse_bound(bound, "clip_first").map(Some)
}

impl Preparation {
    fn probabilities(&self, column: &GradedColumn<'_>) -> Result<Vec<f64>, Refusal> {
        let Some(bound) = self.clip_first else {
            return floats(column);
        };
        column.map_cells(|position, value| match number(value) {
            Some(p) if !p.is_nan() => Ok(p.clamp(bound, 1.0 - bound)),
            _ => finite(column, position, value),
        })
    }
}

/// Labels and probabilities of at least two classes, by class and row. A label is 1 or 0.
struct Classes {
    truth: Vec<Vec<f64>>,
    predicted: Vec<Vec<f64>>,
}

impl Classes {
    fn read(
        pair: &Pair<'_>,
        columns: &ColumnSelection,
        preparation: &Preparation,
    ) -> Result<Self, Refusal> {
        pair.check_same_rows()?;
        let names = columns.select(pair);
        let mut truth = Vec::with_capacity(names.len());
        let mut predicted = Vec::with_capacity(names.len());
        for name in &names {
            let labels = pair.answers.column(name)?;
            if let Some(row) = unknown_label(&labels, names.len()) {
                return Err(labels.refuse(RefusalKind::Answers, row, "a number in the answers"));
            }
            truth.push(floats(&labels)?);
            predicted.push(preparation.probabilities(&pair.submission.column(name)?)?);
        }
        if let ([label], [p]) = (truth.as_slice(), predicted.as_slice()) {
            let positive = positive(label, names.first().copied().unwrap_or_default())?;
            let mask = |is_positive: bool| {
                let is_class = label
                    .iter()
                    .map(|label| (*label == positive) == is_positive);
                is_class
                    .map(|is_class| f64::from(u8::from(is_class)))
                    .collect()
            };
            truth = vec![mask(false), mask(true)];
            predicted = vec![p.iter().map(|p| 1.0 - p).collect(), p.clone()];
        } else if preparation.normalise
            && let Some(name) = names.first()
        {
            divide_by_sums(&pair.submission.column(name)?, &mut predicted)?;
        }
        Ok(Classes { truth, predicted })
    }
}

/// Divides the probabilities of each row by their sum, which must be positive and finite. If it is not, the
/// error takes the number of the row from `column`.
fn divide_by_sums(column: &GradedColumn<'_>, predicted: &mut [Vec<f64>]) -> Result<(), Refusal> {
    let mut sums = vec![0.0; column.len()];
    for class in predicted.iter() {
        for (sum, p) in sums.iter_mut().zip(class) {
            *sum += p;
        }
    }
    let is_invalid = |sum: &f64| !(*sum > 0.0 && sum.is_finite());
    if let Some(row) = sums.iter().position(is_invalid) {
        let message = "the sum of the row's probabilities must be above 0 and finite";
        let refusal = Refusal::new(RefusalKind::Range, message);
        return Err(refusal.in_row(column.file_row(row)));
    }
    for class in predicted.iter_mut() {
        for (p, sum) in class.iter_mut().zip(&sums) {
            *p /= sum;
        }
    }
    Ok(())
}

/// Returns the position of the first label that scikit-learn rejects. If pandas stores the column as Python objects,
/// scikit-learn rejects labels that are neither text nor missing. If there are several columns, it rejects all labels of such
/// a column.
fn unknown_label(labels: &GradedColumn<'_>, columns: usize) -> Option<usize> {
    let ColumnData::Object(_) = labels.data() else {
        return None;
    };
    let is_known = |value| columns == 1 && matches!(value, CellValue::Text(_) | CellValue::Missing);
    labels.values().position(|value| !is_known(value))
}

/// Returns the larger of the two labels in the answers' column `column`.
fn positive(labels: &[f64], column: &str) -> Result<f64, Refusal> {
    let mut distinct = labels.to_vec();
    distinct.sort_unstable_by(f64::total_cmp);
    distinct.dedup();
    match distinct.as_slice() {
        [_, positive] => Ok(*positive),
        _ => Err(Refusal::new(
            RefusalKind::Answers,
            "the answers need two different labels",
        )
        .in_column(column)),
    }
}

/// Returns the log loss. `truth` (1 or 0) and `predicted` (probabilities) are indexed by class and row.
pub fn log_loss(truth: &[Vec<f64>], predicted: &[Vec<f64>]) -> f64 {
    mean(&row_losses(truth, predicted, f64::EPSILON))
}

fn row_losses(truth: &[Vec<f64>], predicted: &[Vec<f64>], eps: f64) -> Vec<f64> {
    let rows = truth.first().map_or(0, Vec::len);
    let mut losses = vec![0.0; rows];
    for (truth, predicted) in truth.iter().zip(predicted) {
        for ((loss, truth), p) in losses.iter_mut().zip(truth).zip(predicted) {
            // The other terms are exactly zero.
            if *truth != 0.0 {
                *loss -= truth * p.clamp(eps, 1.0 - eps).ln();
            }
        }
    }
    losses
}

pub(super) const BRIER: MetricKind = MetricKind::lower::<Brier>(Definition {
    name: "brier",
    summary: "Mean squared difference between the label, 0 or 1, and the predicted probability; for several columns, the \
              mean of their scores.",
    details: "Labels are numbers. The larger of the answers' two labels is read as 1, and the smaller as 0. If all \
              labels of a column are equal, 0 and -1 are read as 0, and other labels as 1.\n\n\
              Missing labels are invalid, and so are probabilities that are missing, text or outside of [0, 1].",
    source: "sklearn.metrics.brier_score_loss",
    shorthand: Some("columns"),
    parameters: &[
        columns(
            "columns",
            "The columns with labels in the answers and probabilities in the submission.",
        ),
        ROW_WEIGHTS,
    ],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Brier {
    columns: ColumnSelection,
    row_weights: Option<String>,
}

impl Metric for Brier {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let weights = row_weights(pair, self.row_weights.as_deref())?;
        mean_over(&self.columns, pair, |truth, predicted| {
            let positive = positive_rows(truth)?;
            check_numeric_type(predicted)?;
            let probabilities = floats(predicted)?;
            let is_outside = |p: &f64| !(0.0..=1.0).contains(p);
            if let Some(row) = probabilities.iter().position(is_outside) {
                return Err(predicted.refuse(RefusalKind::Range, row, "a number from 0 to 1"));
            }
            let squares: Vec<f64> = positive
                .iter()
                .zip(&probabilities)
                .map(|(positive, p)| (f64::from(u8::from(*positive)) - p).powi(2))
                .collect();
            Ok(mean_by(&squares, weights.as_deref()))
        })
    }

    fn rows(&self) -> RowPolicy {
        RowPolicy::Times(1)
    }

    fn cell(&self) -> Option<&'static str> {
        Some("a number from 0 to 1")
    }

    fn meaning(&self) -> Option<&'static str> {
        Some(PROBABILITY)
    }
}

/// Returns for each row whether it is positive. The larger of two labels is positive. If all labels are equal, all rows are
/// positive, unless the label is 0 or -1.
fn positive_rows(truth: &GradedColumn<'_>) -> Result<Vec<bool>, Refusal> {
    let labels = Labels::from_column(truth, LabelsAs::Column)?;
    let positive = match &labels {
        Labels::Integers(values) if labels.is_constant() => Some(
            values
                .iter()
                .map(|label| !matches!(label, -1 | 0))
                .collect(),
        ),
        Labels::Integers(values) => larger_label(values),
        Labels::Text(_) => None,
    };
    positive.ok_or_else(|| {
        let message = "the answers must have at most two different labels, which must be numbers";
        Refusal::new(RefusalKind::Answers, message).in_column(truth.name)
    })
}

pub(super) const GROUPED_LOG_LOSS: MetricKind = MetricKind::lower::<GroupedLogLoss>(Definition {
    name: "grouped_log_loss",
    summary: "Weighted log loss of several yes/no questions about each case, averaged over the cases.",
    details: "A row is one question about one case. The row's identifier consists of the case, the text of the key \
              `separator`, and the question. If the separator occurs several times, the identifier is divided at the \
              first one.\n\n\
              The loss of a row is -(y ln p + (1 - y) ln(1 - p)), where y is the label, and p the probability, clipped \
              to [`clip`, 1 - `clip`]. The weight of a row is the weight of its question. For rows with y = 1, this \
              weight is multiplied by the value of the key `positive`.\n\n\
              The loss of a case is sum(weight loss) / sum(weight), and the score is the mean over the cases. \
              Questions without a weight are left out. If a case has no row for a question that has a weight, the \
              score is NaN.",
    source: "Weighted binary cross entropy; MLE-bench graders",
    shorthand: None,
    parameters: &[
        column(
            "column",
            "The column with the label (0 or 1) in the answers and the probability in the submission.",
        ),
        column("id", "The column of identifiers."),
        required(
            "separator",
            KeyType::String,
            "The text between the case and the question in an identifier.",
        ),
        required(
            "weights",
            KeyType::NumberByName,
            "The weight of each question.",
        ),
        optional(
            "positive",
            KeyType::Number,
            "Factor for the weight of rows with label 1; default 1.",
        ),
        optional(
            "clip",
            KeyType::Number,
            "Clips probabilities to [clip, 1 - clip]; default 1e-15.",
        ),
    ],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupedLogLoss {
    column: String,
    id: String,
    separator: String,
    weights: BTreeMap<String, f64>,
    #[serde(default = "one")]
    positive: f64,
    #[serde(default = "default_clip")]
    clip: f64,
}

fn default_clip() -> f64 {
    1e-15
}

#[derive(Debug, Clone, Copy)]
struct Answer {
    truth: f64,
    predicted: f64,
}

/// The true and predicted answers to the questions about one case, in the order of `weights`. `None` if a question has
/// no row.
type Case = Vec<Option<Answer>>;

impl Metric for GroupedLogLoss {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        check_numeric_type(&prediction)?;
        let cases = self.cases(&pair.answers.column(&self.id)?, &answers, &prediction)?;
        let losses: Vec<f64> = cases.iter().map(|case| self.loss(case)).collect();
        Ok(Score::numpy(mean(&losses)))
    }
}

impl GroupedLogLoss {
    fn cases(
        &self,
        ids: &GradedColumn<'_>,
        answers: &GradedColumn<'_>,
        prediction: &GradedColumn<'_>,
    ) -> Result<Vec<Case>, Refusal> {
        let places: HashMap<&str, usize> = self
            .weights
            .keys()
            .enumerate()
            .map(|(place, name)| (name.as_str(), place))
            .collect();
        let mut found: Vec<bool> = vec![false; places.len()];
        let mut cases: Vec<Case> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        for row in 0..ids.len() {
            let CellValue::Text(id) = ids.value(row) else {
                return Err(ids.refuse(RefusalKind::Ids, row, "a case and a question"));
            };
            let (case, question) = id.split_once(self.separator.as_str()).unwrap_or((id, ""));
            let case = *known.entry(case).or_insert_with(|| {
                cases.push(vec![None; places.len()]);
                cases.len() - 1
            });
            let Some(place) = places.get(question) else {
                continue;
            };
            let answer = Answer {
                truth: number_or_nan(answers, row)?,
                predicted: number_or_nan(prediction, row)?,
            };
            let slot = cases.get_mut(case).and_then(|case| case.get_mut(*place));
            if slot.is_some_and(|slot| slot.replace(answer).is_some()) {
                return Err(ids.refuse(RefusalKind::Ids, row, "each question about a case once"));
            }
            if let Some(found) = found.get_mut(*place) {
                *found = true;
            }
        }
        match self.weights.keys().zip(&found).find(|(_, found)| !**found) {
            None => Ok(cases),
            Some((name, _)) => {
                let message = format!("no identifier ends in `{}{name}`", self.separator);
                Err(Refusal::new(RefusalKind::Answers, message).in_column(&self.id))
            }
        }
    }

    fn loss(&self, case: &Case) -> f64 {
        let (mut losses, mut weights) = (0.0, 0.0);
        for (answer, weight) in case.iter().zip(self.weights.values()) {
            let Some(Answer { truth, predicted }) = *answer else {
                return f64::NAN;
            };
            let p = predicted.clamp(self.clip, 1.0 - self.clip);
            let weight = weight * (truth * self.positive + (1.0 - truth));
            losses -= weight * (truth * p.ln() + (1.0 - truth) * (1.0 - p).ln());
            weights += weight;
        }
        losses / weights
    }
}

pub(super) const KL_DIVERGENCE: MetricKind = MetricKind::lower::<KlDivergence>(Definition {
    name: "kl_divergence",
    summary: "Mean over rows of the Kullback-Leibler divergence of the predicted from the true distribution.",
    details: "The divergence of a row is the sum of y ln(y / p) over the columns, where y is the true value divided by \
              the sum of the row's true values, and p is the predicted probability, clipped to [`clip`, 1 - `clip`]. \
              Terms with y = 0 or a missing p are left out.\n\n\
              If a column of the submission contains only integers, it is not clipped, because pandas would convert \
              the clipped values back to integers. Therefore, a predicted 0 stays 0, and the score is infinite if y is \
              not 0.",
    source: "kaggle.com/code/metric/kullback-leibler-divergence",
    shorthand: Some("columns"),
    parameters: &[
        COLUMNS,
        optional(
            "clip",
            KeyType::Number,
            "The smallest probability; default 1e-15.",
        ),
    ],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KlDivergence {
    columns: ColumnSelection,
    #[serde(default = "default_clip")]
    clip: f64,
}

impl Metric for KlDivergence {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let names = self.columns.select(pair);
        let truth = names
            .iter()
            .map(|name| doubles(&pair.answers.column(name)?))
            .collect::<Result<Vec<Vec<f64>>, Refusal>>()?;
        let mut totals = vec![0.0; pair.answers.len()];
        for column in &truth {
            for (total, value) in totals.iter_mut().zip(column) {
                *total += value;
            }
        }
        let mut divergences = vec![0.0; totals.len()];
        for (name, truth) in names.iter().zip(&truth) {
            let column = pair.submission.column(name)?;
            let has_integers =
                matches!(column.data(), ColumnData::Int64(_) | ColumnData::UInt64(_));
            let predicted = doubles(&column)?;
            let rows = divergences
                .iter_mut()
                .zip(&totals)
                .zip(truth)
                .zip(predicted);
            for (((divergence, total), truth), predicted) in rows {
                let y = truth / total;
                let p = if has_integers {
                    predicted
                } else {
                    predicted.clamp(self.clip, 1.0 - self.clip)
                };
                let term = y * (y / p).ln();
                if y != 0.0 && !term.is_nan() {
                    *divergence += term;
                }
            }
        }
        Ok(Score::numpy(mean(&divergences)))
    }

    fn max_classes(&self) -> Option<usize> {
        Some(usize::MAX)
    }
}

pub(super) const PROBABILISTIC_F_SCORE: MetricKind = MetricKind::higher::<ProbabilisticFScore>(
    Definition {
        name: "probabilistic_f_score",
        summary: "F-score whose counts are sums of probabilities.",
        details: "The score is (1 + b^2) P R / (b^2 P + R), with b = `beta`, precision P = T / (T + F) and recall R = \
              T / N. T is the sum of the probabilities of the positive rows, F the sum of the probabilities of the \
              other rows, and N the number of positive rows.\n\n\
              Probabilities are clipped to [0, 1]. The score is 0 if P or R is 0, if all probabilities are 0, or if a \
              probability is missing. If all probabilities are below 0 before clipping, the submission is invalid.",
        source: "kaggle.com/code/sohier/probabilistic-f-score; Yacouby and Axman (2020)",
        shorthand: Some("column"),
        parameters: &[
            column(
                "column",
                "The column with the label in the answers (0 for negative rows) and the probability in the submission.",
            ),
            optional(
                "beta",
                KeyType::Number,
                "The weight of recall relative to precision; default 1.",
            ),
        ],
    },
);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProbabilisticFScore {
    column: String,
    #[serde(default = "one")]
    beta: f64,
}

impl Metric for ProbabilisticFScore {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        let (mut hits, mut alarms, mut positives) = (0.0, 0.0, 0u64);
        // If all numbers are outside of [0, 1], clipping replaces all of them with the Python integers 0 and 1. Python then
        // computes the score, and a division by 0 is an error. Otherwise, NumPy computes the score with doubles.
        let mut clipped = true;
        for row in 0..answers.len() {
            let p = number_or_nan(&prediction, row)?;
            clipped &= !(0.0..=1.0).contains(&p) && !p.is_nan();
            let p = p.clamp(0.0, 1.0);
            let positive = match answers.value(row) {
                CellValue::Missing => true,
                value => number(value) != Some(0.0),
            };
            if positive {
                positives += 1;
                hits += p;
            } else {
                alarms += p;
            }
        }
        if positives == 0 {
            let message = "the answers have no positive row";
            return Err(Refusal::new(RefusalKind::Answers, message).in_column(&self.column));
        }
        if clipped && hits + alarms == 0.0 {
            let message = "all numbers are below 0; expected probabilities from 0 to 1";
            return Err(Refusal::new(RefusalKind::Range, message).in_column(&self.column));
        }
        let (precision, recall) = (hits / (hits + alarms), hits / positives as f64);
        let squared = self.beta * self.beta;
        let value = if precision > 0.0 && recall > 0.0 {
            (1.0 + squared) * (precision * recall) / (squared * precision + recall)
        } else {
            0.0
        };
        Ok(if clipped {
            Score::python(value)
        } else {
            Score::numpy(value)
        })
    }
}
