//! `log_loss`: cross entropy of predicted probabilities.

use prep_formats::pandas::ColumnData;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::mean;
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{Definition, columns};
use crate::table::numbers::{ColumnSelection, floats};
use crate::table::pair::{CellValue, GradedColumn, Pair};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
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
    },
    direction: Direction::LowerIsBetter,
    parse: parse::<LogLoss>,
};

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
