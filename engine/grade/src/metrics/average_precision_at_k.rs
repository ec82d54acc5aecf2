//! `average_precision_at_k`: mean average precision of ranked guesses.

use std::collections::HashSet;

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::mean;
use crate::refusal::Refusal;
use crate::spec::definition::{Definition, column, required};
use crate::table::pair::{Pair, text};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
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
    direction: Direction::HigherIsBetter,
    parse: parse::<AveragePrecisionAtK>,
};

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
