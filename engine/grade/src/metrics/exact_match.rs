//! `exact_match`: predictions for questions that have several correct answers or none.

use std::borrow::Cow;

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::{BigInteger, is_python_space, words};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, column, optional};
use crate::table::pair::{CellValue, Pair, text};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "exact_match",
        summary: "The fraction of rows whose prediction is one of the correct answers, or is empty if there is no \
                  correct answer.",
        details: "A cell of the answers lists the correct answers, separated by white space. A prediction is a span \
                  `FIRST:LAST` of integers, one of `words` (case-sensitive), or empty. Any other text is invalid. \
                  Numbers are compared by value; surrounding white space is ignored.",
        source: "sklearn.metrics.f1_score(average=\"micro\") of one label per row; Rajpurkar et al. (2016), SQuAD",
        shorthand: None,
        parameters: &[
            column("column", "The column of predictions."),
            column("valid", "The answers' column with the correct answers."),
            optional(
                "words",
                KeyType::Strings,
                "Words that are valid predictions in addition to spans.",
            ),
        ],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<ExactMatch>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExactMatch {
    column: String,
    valid: String,
    #[serde(default)]
    words: Vec<String>,
}

/// A prediction, or a correct answer.
#[derive(Debug, PartialEq, Eq)]
enum Guess {
    Span(BigInteger, BigInteger),
    /// The index of the word in `words`.
    Word(usize),
}

impl Metric for ExactMatch {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let answers = pair.answers.column(&self.valid)?;
        let prediction = pair.submission.column(&self.column)?;
        if answers.is_empty() {
            let message = "there are no rows to grade";
            return Err(Refusal::new(RefusalKind::RowCount, message));
        }
        let mut right = 0u64;
        for row in 0..answers.len() {
            let valid = self.valid(answers.value(row)).ok_or_else(|| {
                answers.refuse(RefusalKind::Answers, row, "spans `FIRST:LAST` and words")
            })?;
            let is_right = match present(prediction.value(row)).trim_matches(is_python_space) {
                "" => valid.is_empty(),
                text => match self.read(text) {
                    Some(guess) => valid.contains(&guess),
                    None => {
                        return Err(prediction.refuse(RefusalKind::Type, row, &self.expected()));
                    }
                },
            };
            right += u64::from(is_right);
        }
        Ok(Score::numpy(right as f64 / answers.len() as f64))
    }
}

impl ExactMatch {
    fn valid(&self, cell: CellValue<'_>) -> Option<Vec<Guess>> {
        words(&present(cell)).map(|word| self.read(word)).collect()
    }

    fn read(&self, text: &str) -> Option<Guess> {
        if let Some(position) = self.words.iter().position(|word| word == text) {
            return Some(Guess::Word(position));
        }
        let (first, last) = text.split_once(':')?;
        Some(Guess::Span(
            BigInteger::parse(first)?,
            BigInteger::parse(last)?,
        ))
    }

    fn expected(&self) -> String {
        let words: Vec<String> = self
            .words
            .iter()
            .map(|word| format!("`{word}`, "))
            .collect();
        format!("a span `FIRST:LAST`, {}or nothing", words.concat())
    }
}

/// Returns the cell as text, which is empty if the cell is missing.
fn present(cell: CellValue<'_>) -> Cow<'_, str> {
    match cell {
        CellValue::Missing => Cow::Borrowed(""),
        value => text(value),
    }
}
