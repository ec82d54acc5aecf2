//! `token_error_rate`: edit distance between sequences, relative to their length.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::edit_distance::sequence_distance;
use crate::python::{BigInteger, words};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, column, required};
use crate::table::pair::{GradedColumn, Pair, text};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "token_error_rate",
        summary: "The number of edits that turn the predicted sequences into the true sequences, divided by the length \
                  of the true sequences.",
        details: "The sum over rows of the Levenshtein distance between the two sequences, divided by the number of \
                  elements of all true sequences. The score can exceed 1. A cell lists elements, separated by white \
                  space; a missing cell is the text `nan`. Integers are parsed as in Python: a sign, leading zeros and \
                  `_` between digits are valid, but `5.0` is not. Integers that are equal modulo 2^61 - 1 are treated \
                  as equal.",
        source: "Word error rate; Levenshtein.distance on lists",
        shorthand: None,
        parameters: &[
            column("column", "The column of sequences."),
            required(
                "tokens",
                KeyType::Choice(&["words", "integers"]),
                "The type of the elements.",
            ),
        ],
    },
    direction: Direction::LowerIsBetter,
    parse: parse::<TokenErrorRate>,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tokens {
    Words,
    Integers,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenErrorRate {
    column: String,
    tokens: Tokens,
}

impl Metric for TokenErrorRate {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        let (mut edits, mut length) = (0, 0);
        for row in 0..answers.len() {
            let (truth, predicted) = (text(answers.value(row)), text(prediction.value(row)));
            match self.tokens {
                Tokens::Words => {
                    let truth: Vec<&str> = words(&truth).collect();
                    length += truth.len();
                    edits += sequence_distance(&truth, words(&predicted));
                }
                Tokens::Integers => {
                    let truth = integers(&answers, row, &truth)?;
                    length += truth.len();
                    let predicted = integers(&prediction, row, &predicted)?;
                    edits += sequence_distance(&truth, predicted.into_iter());
                }
            }
        }
        Ok(Score::numpy(edits as f64 / length as f64))
    }
}

fn integers(column: &GradedColumn<'_>, row: usize, text: &str) -> Result<Vec<i64>, Refusal> {
    words(text)
        .map(|word| BigInteger::parse(word).map(|integer| integer.hash()))
        .collect::<Option<Vec<i64>>>()
        .ok_or_else(|| column.refuse(RefusalKind::Type, row, "integers, separated by white space"))
}
