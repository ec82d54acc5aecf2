//! Metrics of ranked guesses and labels.

use std::collections::HashSet;

use prep_formats::pandas::ColumnData;
use prep_spec::words::{KeyType, SectionKey};
use serde::Deserialize;

use super::kind::{COLUMNS, paired_groups};
use super::kind::{Direction, Metric, MetricKind, Score, TRUTH};
use crate::python::mean;
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, column, optional, required};
use crate::table::column::text;
use crate::table::column::{CellValue, GradedColumn};
use crate::table::numbers::{ColumnSelection, finite, floats};
use crate::table::pair::Pair;

const GUESSES: SectionKey = column("column", "The column of guesses.");

const K: SectionKey = required("k", KeyType::Natural, "The number of guesses to evaluate.");

const ID: SectionKey = optional(
    "id",
    KeyType::Column,
    "The identifier, in both tables, if each guess has its own row. Rows with the same identifier are the guesses of one \
     question, best first. In the answers, they are the correct guesses of the question. Both tables need the same \
     identifiers.",
);

/// Inserts `details`, which describe one metric, into the text that all metrics of guesses share.
macro_rules! guesses_and {
    ($details:literal) => {
        concat!(
            "A cell of the submission contains guesses, best first, separated by single spaces. The cell of the \
             answers contains the correct guesses. A hit is a correct guess that does not repeat an earlier guess of \
             its cell.\n\n",
            $details,
            "\n\nCells are converted to text: a missing cell becomes the guess `nan`. In a column of integers, leading \
             zeros are lost. An empty guess (between two consecutive spaces) also has a rank."
        )
    };
}

pub(super) const AVERAGE_PRECISION_AT_K: MetricKind = MetricKind::higher::<AveragePrecisionAtK>(
    Definition {
        name: "average_precision_at_k",
        summary: "Mean average precision of the first k guesses of each row.",
        details: guesses_and!(
            "r is the rank of a hit, and h the number of hits up to this rank. The value of a row is the sum of h / r \
             over the hits of the row, divided by n. n is the smaller of k and the number of correct guesses."
        ),
        source: "github.com/benhamner/Metrics, average_precision.py",
        shorthand: None,
        parameters: &[GUESSES, K, ID],
    },
);

#[derive(Debug, Deserialize)]
struct AveragePrecisionAtK {
    #[serde(flatten)]
    guesses: GuessColumns,
    k: usize,
}

impl Metric for AveragePrecisionAtK {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        self.guesses.mean(pair, self.k, |hits| {
            let precisions = (1u32..).zip(&hits.ranks);
            let sum: f64 = precisions
                .map(|(count, rank)| f64::from(count) / f64::from(*rank))
                .sum();
            sum / hits.possible as f64
        })
    }
}

pub(super) const MEAN_RECIPROCAL_RANK: MetricKind =
    MetricKind::higher::<MeanReciprocalRank>(Definition {
        name: "mean_reciprocal_rank",
        summary: "Mean of 1 / rank, where rank is that of the first correct guess of a row.",
        details: guesses_and!("The value of a row without a hit is 0."),
        source: "Voorhees (1999), The TREC-8 Question Answering Track Report",
        shorthand: None,
        parameters: &[
            GUESSES,
            optional(
                "k",
                KeyType::Natural,
                "The number of guesses to evaluate; default: all.",
            ),
            ID,
        ],
    });

#[derive(Debug, Deserialize)]
struct MeanReciprocalRank {
    #[serde(flatten)]
    guesses: GuessColumns,
    #[serde(default = "all_guesses")]
    k: usize,
}

fn all_guesses() -> usize {
    usize::MAX
}

impl Metric for MeanReciprocalRank {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        self.guesses.mean(pair, self.k, |hits| {
            hits.ranks
                .first()
                .map_or(0.0, |rank| 1.0 / f64::from(*rank))
        })
    }
}

pub(super) const NDCG_AT_K: MetricKind = MetricKind::higher::<NdcgAtK>(Definition {
    name: "ndcg_at_k",
    summary: "Mean normalised discounted cumulative gain of the first k guesses of each row.",
    details: guesses_and!(
        "The gain of a hit is 1 / log2(rank + 1). The value of a row is the sum of the gains of its hits, divided by \
         the largest possible sum. The largest possible sum results if the first n guesses are hits, where n is the \
         smaller of k and the number of correct guesses."
    ),
    source: "sklearn.metrics.ndcg_score with relevances of 0 and 1",
    shorthand: None,
    parameters: &[GUESSES, K, ID],
});

#[derive(Debug, Deserialize)]
struct NdcgAtK {
    #[serde(flatten)]
    guesses: GuessColumns,
    k: usize,
}

impl Metric for NdcgAtK {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let gain = |rank: u32| 1.0 / (f64::from(rank) + 1.0).log2();
        self.guesses.mean(pair, self.k, |hits| {
            let gains: f64 = hits.ranks.iter().map(|rank| gain(*rank)).sum();
            gains / (1u32..).take(hits.possible).map(gain).sum::<f64>()
        })
    }
}

pub(super) const TOP_K_ACCURACY: MetricKind = MetricKind {
    definition: Definition {
        name: "top_k_accuracy",
        summary: "The fraction of rows with a correct guess among the first k guesses.",
        details: guesses_and!(
            "With `columns`, no cell contains guesses. Instead, each column contains the scores of a class, and the \
             answers contain 1 for the true class and 0 for the other classes. The guesses are the classes with the \
             highest scores. If scores are equal, the later column comes first. Missing and infinite scores are \
             invalid."
        ),
        source: "sklearn.metrics.top_k_accuracy_score",
        shorthand: None,
        parameters: &[
            optional(
                "column",
                KeyType::Column,
                "The column of guesses. Not together with `columns`.",
            ),
            optional(
                "columns",
                KeyType::Selection,
                "Two or more columns of scores, one per class. Not together with `column`.",
            ),
            K,
            ID,
        ],
    },
    direction: Direction::HigherIsBetter,
    best_score: Some(1.0),
    truth: TRUTH,
    parse: |value| {
        let metric: TopKAccuracy = serde_json::from_value(value)?;
        match (&metric.column, &metric.columns, &metric.id) {
            (Some(_), None, _) | (None, Some(_), None) => Ok(Box::new(metric)),
            (None, None, _) => Err(serde::de::Error::custom("`column` is missing")),
            (None, Some(_), Some(_)) => Err(serde::de::Error::custom("`id` needs `column`")),
            _ => Err(serde::de::Error::custom(
                "use either `column` or `columns`, not both",
            )),
        }
    },
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TopKAccuracy {
    column: Option<String>,
    columns: Option<ColumnSelection>,
    k: usize,
    id: Option<String>,
}

impl Metric for TopKAccuracy {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        if let Some(columns) = &self.columns {
            return self.of_scores(pair, columns);
        }
        let guesses = GuessColumns {
            column: self.column.clone().unwrap_or_default(),
            id: self.id.clone(),
        };
        let is_hit = |hits: &Hits| f64::from(u8::from(!hits.ranks.is_empty()));
        guesses.mean(pair, self.k, is_hit)
    }
}

impl TopKAccuracy {
    fn of_scores(&self, pair: &Pair<'_>, columns: &ColumnSelection) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let (mut truth, mut scores) = (Vec::new(), Vec::new());
        for name in columns.select(pair) {
            let (answers, prediction) = pair.both(name)?;
            truth.push(floats(&answers)?);
            scores.push(floats(&prediction)?);
        }
        let mut hits = Vec::with_capacity(pair.answers.len());
        for row in 0..pair.answers.len() {
            let at = |column: &Vec<f64>| column.get(row).copied().unwrap_or_default();
            let classes: Vec<usize> = (0..truth.len())
                .filter(|class| truth.get(*class).is_some_and(|labels| at(labels) != 0.0))
                .collect();
            let &[class] = classes.as_slice() else {
                let message = "each row of the answers must have exactly one true class";
                return Err(Refusal::new(RefusalKind::Answers, message));
            };
            let score = scores.get(class).map_or(f64::NAN, at);
            let better = scores.iter().map(at).enumerate();
            let better = better.filter(|(other, of_other)| {
                *of_other > score || (*of_other == score && *other > class)
            });
            hits.push(f64::from(u8::from(better.count() < self.k)));
        }
        Ok(Score::numpy(mean(&hits)))
    }
}

#[derive(Debug, Deserialize)]
struct GuessColumns {
    column: String,
    id: Option<String>,
}

/// The ranks of the hits, in increasing order, and the largest possible number of hits.
struct Hits {
    ranks: Vec<u32>,
    possible: usize,
}

impl Hits {
    fn find<'g>(
        correct: impl Iterator<Item = &'g str>,
        guesses: impl Iterator<Item = &'g str>,
        k: usize,
    ) -> Hits {
        let mut open: HashSet<&str> = correct.collect();
        let possible = open.len().min(k);
        // Only the first occurrence of a correct guess is a hit, so remove it from the set.
        let hits = (1..)
            .zip(guesses.take(k))
            .filter(|(_, guess)| open.remove(guess));
        Hits {
            ranks: hits.map(|(rank, _)| rank).collect(),
            possible,
        }
    }
}

impl GuessColumns {
    /// Returns the mean of `value` over the rows. If each guess has its own row, returns the mean over the questions.
    fn mean(
        &self,
        pair: &Pair<'_>,
        k: usize,
        value: impl Fn(&Hits) -> f64,
    ) -> Result<Score, Refusal> {
        if let Some(id) = &self.id {
            return self.mean_of_questions(pair, id, k, value);
        }
        let (answers, prediction) = pair.cells(&self.column)?;
        let rows: Vec<f64> = answers
            .values()
            .zip(prediction.values())
            .map(|(truth, predicted)| {
                let (truth, predicted) = (text(truth), text(predicted));
                value(&Hits::find(truth.split(' '), predicted.split(' '), k))
            })
            .collect();
        Ok(Score::numpy(mean(&rows)))
    }

    fn mean_of_questions(
        &self,
        pair: &Pair<'_>,
        id: &str,
        k: usize,
        value: impl Fn(&Hits) -> f64,
    ) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.both(&self.column)?;
        let cells = |column: &GradedColumn<'_>, rows: &[usize]| -> Vec<String> {
            let cells = rows.iter().map(|row| text(column.value(*row)).into_owned());
            cells.collect()
        };
        let values: Vec<f64> = paired_groups(pair, id)?
            .iter()
            .map(|(correct, guesses)| {
                let (correct, guesses) = (cells(&answers, correct), cells(&prediction, guesses));
                let correct = correct.iter().map(String::as_str);
                value(&Hits::find(correct, guesses.iter().map(String::as_str), k))
            })
            .collect();
        Ok(Score::numpy(mean(&values)))
    }
}

pub(super) const LABEL_RANKING_AVERAGE_PRECISION: MetricKind = MetricKind::higher::<LabelRanking>(
    Definition {
        name: "label_ranking_average_precision",
        summary: "Measures how high the true labels of each row rank by score, averaged over the rows.",
        details: "A label of a row is true if its value in the answers is above 0. Each true label gets a precision: \
              the number of true labels with at least the same score, divided by the number of all labels with at \
              least the same score.\n\n\
              The value of the row is the mean of these precisions, or 1 if all or none of its labels are true. \
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
            // The scores of a row with weight 0 may be missing.
            if weight > 0.0 {
                total += row_value(&is_true, &scores.row(row)?) * weight;
                weights += weight;
            }
        }
        if weights == 0.0 {
            let message = "the answers have no label above 0";
            return Err(Refusal::new(RefusalKind::Answers, message));
        }
        Ok(Score::numpy(total / weights))
    }
}

/// The scores as NumPy stores them: integers if all columns have the same integer type, and otherwise doubles.
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
            let expected = "a number: NumPy cannot order scores that are all booleans";
            return Err(first.refuse(RefusalKind::Type, 0, expected));
        }
        let integers = all(|data| matches!(data, ColumnData::Int64(_)))
            || all(|data| matches!(data, ColumnData::UInt64(_)));
        Ok(match integers {
            true => Scores::Integers(columns),
            false => Scores::Doubles(columns),
        })
    }

    /// Returns the scores of a row as doubles. Different large integers could become equal doubles. Therefore integers are
    /// replaced with their ranks in the row.
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

/// Negates a score, because scikit-learn ranks by negated scores. NumPy's negation wraps around. Therefore 0 in an unsigned
/// column, and the smallest integer in a signed column, become the best scores.
fn negated(value: CellValue<'_>) -> i128 {
    match value {
        CellValue::Int(value) => i128::from(value.wrapping_neg()),
        CellValue::UInt(value) => i128::from(value.wrapping_neg()),
        _ => 0,
    }
}

/// Returns the value of a row for `label_ranking_average_precision`.
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
