//! Metrics of predicted probabilities.

use std::collections::{BTreeMap, HashMap};

use prep_formats::pandas::ColumnData;
use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::COLUMNS;
use super::kind::{Metric, MetricKind, Score};
use crate::python::mean;
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, column, columns, one, optional, required};
use crate::table::column::{CellValue, GradedColumn};
use crate::table::numbers::{
    ColumnSelection, check_numeric_type, doubles, floats, number, number_or_nan,
};
use crate::table::pair::Pair;

pub(super) const LOG_LOSS: MetricKind = MetricKind::lower::<LogLoss>(Definition {
    name: "log_loss",
    summary: "Mean over rows of -ln(p), where p is the predicted probability of the true class.",
    details: "p is clipped to [eps, 1 - eps] with eps = 2^-52, so the loss of a row with a certain but wrong \
              prediction is 36.04365. Rows are not normalised to sum 1. If there is one column, it contains the \
              probability of the larger of the answers' two labels. If there are several columns, each belongs to \
              a class; the answers contain 1 for the true class and 0 for the other classes.",
    source: "sklearn.metrics.log_loss (1.5)",
    shorthand: Some("columns"),
    parameters: &[columns(
        "columns",
        "The column with the probability, or one column per class.",
    )],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LogLoss {
    columns: ColumnSelection,
}

impl Metric for LogLoss {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let names = self.columns.select(pair);
        let mut truth = Vec::with_capacity(names.len());
        let mut predicted = Vec::with_capacity(names.len());
        for name in &names {
            predicted.push(floats(&pair.submission.column(name)?)?);
            let labels = pair.answers.column(name)?;
            if let Some(row) = unknown_label(&labels, names.len()) {
                return Err(labels.refuse(RefusalKind::Answers, row, "a number in the answers"));
            }
            truth.push(floats(&labels)?);
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
        }
        Ok(Score::python(log_loss(&truth, &predicted)))
    }

    fn rows(&self) -> RowPolicy {
        RowPolicy::Times(1)
    }
}

/// Returns the position of the first label that scikit-learn rejects. In a column of Python objects, it accepts only
/// texts. If there are several columns, it rejects all Python objects.
fn unknown_label(labels: &GradedColumn<'_>, columns: usize) -> Option<usize> {
    let ColumnData::Object(_) = labels.data() else {
        return None;
    };
    let is_known = |value| columns == 1 && matches!(value, CellValue::Text(_) | CellValue::Missing);
    labels.values().position(|value| !is_known(value))
}

/// Returns the larger of two labels.
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

/// Returns the log loss. `truth[class][row]` is 1 or 0, and `predicted[class][row]` is a probability.
pub fn log_loss(truth: &[Vec<f64>], predicted: &[Vec<f64>]) -> f64 {
    let rows = truth.first().map_or(0, Vec::len);
    let mut losses = vec![0.0; rows];
    for (truth, predicted) in truth.iter().zip(predicted) {
        for ((loss, truth), p) in losses.iter_mut().zip(truth).zip(predicted) {
            // All other terms are exactly zero, because the factor `truth` is 0.
            if *truth != 0.0 {
                *loss -= truth * p.clamp(f64::EPSILON, 1.0 - f64::EPSILON).ln();
            }
        }
    }
    mean(&losses)
}

pub(super) const GROUPED_LOG_LOSS: MetricKind = MetricKind::lower::<GroupedLogLoss>(Definition {
    name: "grouped_log_loss",
    summary: "Weighted log loss of several yes/no questions about each case, averaged over the cases.",
    details: "A row is one question about one case. Its identifier consists of the case, the separator and the \
              question, and is split at the first separator. The loss of a row is -(y ln p + (1 - y) ln(1 - p)), \
              with p clipped to [clip, 1 - clip]. Its weight is the weight of the question, times `positive` if y \
              is 1. The loss of a case is sum(weight loss) / sum(weight); the score is the mean over the cases. \
              Questions without a weight are left out. If a question of a case is missing, the score is NaN.",
    source: "Weighted binary cross entropy; MLE-bench graders",
    shorthand: None,
    parameters: &[
        column(
            "column",
            "The column with the label (0 or 1) in the answers and the probability in the submission.",
        ),
        column("id", "The identifier."),
        required(
            "separator",
            KeyType::String,
            "The text between case and question.",
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
            "The minimum distance of a probability from 0 and 1; default 1e-15.",
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

/// Truth and prediction of one question about one case.
#[derive(Debug, Clone, Copy)]
struct Answer {
    truth: f64,
    predicted: f64,
}

/// The questions about a case, in the order of the weights.
type Case = Vec<Option<Answer>>;

impl Metric for GroupedLogLoss {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        // NumPy cannot compute logarithms of Python objects, even if the objects are numbers.
        check_numeric_type(&prediction)?;
        let cases = self.cases(&pair.answers.column(&self.id)?, &answers, &prediction)?;
        let losses: Vec<f64> = cases.iter().map(|case| self.loss(case)).collect();
        Ok(Score::numpy(mean(&losses)))
    }
}

impl GroupedLogLoss {
    /// Returns the cases, in the order of their first rows.
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
    details: "The sum of y ln(y / p) over the columns, where y is the true value divided by the row's sum. Terms \
              with y = 0 or a missing p are left out. p is clipped to [`clip`, 1 - `clip`]. In a column of \
              integers, pandas rounds the clipped values back, so a 0 makes the score infinite if y is not 0.",
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
            let whole = matches!(column.data(), ColumnData::Int64(_) | ColumnData::UInt64(_));
            let predicted = doubles(&column)?;
            let rows = divergences
                .iter_mut()
                .zip(&totals)
                .zip(truth)
                .zip(predicted);
            for (((divergence, total), truth), predicted) in rows {
                let y = truth / total;
                let p = if whole {
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
}

pub(super) const PROBABILISTIC_F_SCORE: MetricKind = MetricKind::higher::<ProbabilisticFScore>(
    Definition {
        name: "probabilistic_f_score",
        summary: "F-score whose counts are sums of probabilities.",
        details: "(1 + b^2) P R / (b^2 P + R), with precision P = T / (T + F) and recall R = T / positive rows. T and \
              F are the sums of the probabilities, clipped to [0, 1], of the positive rows and of the other rows. \
              The score is 0 if P or R is 0, if all probabilities are 0, or if a probability is missing. A \
              submission whose numbers are all below 0 is invalid.",
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
        // Numbers outside of [0, 1] become the Python integers 0 and 1. Other numbers stay NumPy doubles.
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
