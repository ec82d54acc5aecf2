//! Metrics of ranked guesses and labels.

use std::collections::HashSet;

use prep_formats::pandas::ColumnData;
use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::COLUMNS;
use super::kind::{Metric, MetricKind, Score};
use crate::python::mean;
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, column, optional, required};
use crate::table::column::text;
use crate::table::column::{CellValue, GradedColumn};
use crate::table::numbers::{ColumnSelection, finite, floats};
use crate::table::pair::Pair;

pub(super) const AVERAGE_PRECISION_AT_K: MetricKind = MetricKind::higher::<AveragePrecisionAtK>(
    Definition {
        name: "average_precision_at_k",
        summary: "Mean average precision of the first k guesses of each row.",
        details: "A cell contains guesses, best first, separated by single spaces. In the answers, the cell contains \
              the set of correct guesses. A hit is a rank whose guess is correct and was not made at an earlier \
              rank. The value of a row is the sum of hits_so_far / rank over all hits, divided by the smaller of k \
              and the number of correct guesses. Cells are converted to text: a missing cell is the guess `nan`, \
              and a column of integers loses leading zeros. An empty guess (two consecutive spaces) also takes a \
              rank.",
        source: "github.com/benhamner/Metrics, average_precision.py",
        shorthand: None,
        parameters: &[
            column("column", "The column of guesses."),
            required("k", KeyType::Natural, "The number of guesses to evaluate."),
        ],
    },
);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AveragePrecisionAtK {
    column: String,
    k: usize,
}

impl Metric for AveragePrecisionAtK {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        let rows: Vec<f64> = answers
            .values()
            .zip(prediction.values())
            .map(|(truth, predicted)| average_precision(&text(truth), &text(predicted), self.k))
            .collect();
        Ok(Score::numpy(mean(&rows)))
    }
}

fn average_precision(truth: &str, predicted: &str, k: usize) -> f64 {
    let mut open: HashSet<&str> = truth.split(' ').collect();
    let possible = open.len().min(k);
    let (mut hits, mut sum) = (0.0, 0.0);
    for (rank, guess) in (1..).zip(predicted.split(' ').take(k)) {
        // Remove a correct guess from the set, because only its first occurrence is a hit.
        if open.remove(guess) {
            hits += 1.0;
            sum += hits / f64::from(rank);
        }
    }
    sum / possible as f64
}

pub(super) const LABEL_RANKING_AVERAGE_PRECISION: MetricKind = MetricKind::higher::<LabelRanking>(
    Definition {
        name: "label_ranking_average_precision",
        summary: "Measures how high the true labels of each row rank by score, averaged over the rows.",
        details: "For each true label of a row: the number of true labels whose score is not lower, divided by the \
              number of all labels whose score is not lower. The value of the row is the mean over its true \
              labels, or 1 if all labels are true. A label is true if its value in the answers is above 0. \
              Missing and infinite scores are invalid.",
        source: "sklearn.metrics.label_ranking_average_precision_score",
        shorthand: Some("columns"),
        parameters: &[
            COLUMNS,
            optional(
                "weights",
                KeyType::Choice(&["rows", "labels"]),
                "`rows` (default): all rows have equal weight, and a row without true labels has the score 1; \
             `labels`: the weight of a row is its number of true labels, which gives the mean over all true labels \
             (lwlrap).",
            ),
        ],
    },
);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LabelWeights {
    #[default]
    Rows,
    Labels,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelRanking {
    columns: ColumnSelection,
    #[serde(default)]
    weights: LabelWeights,
}

impl Metric for LabelRanking {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let names = self.columns.resolve(&pair.answers);
        let mut truth = Vec::with_capacity(names.len());
        let mut predicted = Vec::with_capacity(names.len());
        for name in &names {
            predicted.push(pair.submission.column(name)?);
            truth.push(floats(&pair.answers.column(name)?)?);
        }
        let scores = Scores::new(&predicted)?;
        let (mut total, mut weights) = (0.0, 0.0);
        for row in 0..pair.answers.len() {
            let is_true: Vec<bool> = truth
                .iter()
                .map(|column| column.get(row).is_some_and(|label| *label > 0.0))
                .collect();
            let weight = match self.weights {
                LabelWeights::Rows => 1.0,
                LabelWeights::Labels => is_true.iter().filter(|label| **label).count() as f64,
            };
            // Skip a row with weight 0, because its scores may be missing.
            if weight > 0.0 {
                total += row_value(&is_true, &scores.row(row)?) * weight;
                weights += weight;
            }
        }
        if weights == 0.0 {
            let message = "the answers have no true label";
            return Err(Refusal::new(RefusalKind::Answers, message));
        }
        Ok(Score::numpy(total / weights))
    }
}

/// The scores as NumPy stores them: if all columns have the same integer type, as integers, otherwise as doubles.
enum Scores<'a> {
    Integers(&'a [GradedColumn<'a>]),
    Doubles(&'a [GradedColumn<'a>]),
}

impl<'a> Scores<'a> {
    fn new(columns: &'a [GradedColumn<'a>]) -> Result<Self, Refusal> {
        let all = |of: fn(&ColumnData) -> bool| columns.iter().all(|column| of(column.data()));
        if let Some(first) = columns.first()
            && all(|data| matches!(data, ColumnData::Bool(_)))
        {
            let expected = "a number: booleans alone have no order for NumPy";
            return Err(first.refuse(RefusalKind::Type, 0, expected));
        }
        let integers = all(|data| matches!(data, ColumnData::Int64(_)))
            || all(|data| matches!(data, ColumnData::UInt64(_)));
        Ok(match integers {
            true => Scores::Integers(columns),
            false => Scores::Doubles(columns),
        })
    }

    /// Returns the scores of a row as doubles, or doubles with the same order.
    fn row(&self, row: usize) -> Result<Vec<f64>, Refusal> {
        match self {
            Scores::Doubles(columns) => columns
                .iter()
                .map(|column| finite(column, row, column.value(row)))
                .collect(),
            Scores::Integers(columns) => {
                let values: Vec<i128> = columns
                    .iter()
                    .map(|column| negated(column.value(row)))
                    .collect();
                let below = |value: &i128| values.iter().filter(|other| *other > value).count();
                Ok(values.iter().map(|value| below(value) as f64).collect())
            }
        }
    }
}

/// Negates a score like scikit-learn, which ranks by the negated scores. NumPy's negation wraps around, so 0 in an
/// unsigned column and the smallest signed integer become the best scores.
fn negated(value: CellValue<'_>) -> i128 {
    match value {
        CellValue::Int(value) => i128::from(value.wrapping_neg()),
        CellValue::UInt(value) => i128::from(value.wrapping_neg()),
        _ => 0,
    }
}

fn row_value(is_true: &[bool], scores: &[f64]) -> f64 {
    let relevant: Vec<f64> = scores
        .iter()
        .zip(is_true)
        .filter(|(_, label)| **label)
        .map(|(score, _)| *score)
        .collect();
    if relevant.is_empty() || relevant.len() == scores.len() {
        return 1.0;
    }
    let not_lower =
        |among: &[f64], score: f64| among.iter().filter(|other| **other >= score).count() as f64;
    let values = relevant
        .iter()
        .map(|score| not_lower(&relevant, *score) / not_lower(scores, *score));
    values.sum::<f64>() / relevant.len() as f64
}
