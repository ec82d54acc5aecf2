//! `jaccard_of_words`: overlap of two texts as sets of words.

use std::borrow::Cow;
use std::collections::HashSet;

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::{mean, words};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, column, optional};
use crate::table::pair::{CellValue, GradedColumn, Pair, text};
use crate::table::target::OtherCells;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "jaccard_of_words",
        summary: "Mean Jaccard index of the words of the true and the predicted text.",
        details: "The number of words in both texts of a row, divided by the number of words in at least one of them. \
                  Texts are converted to lower case (Unicode) and split at white space. Repetitions and order do not \
                  matter; punctuation is part of the word. A missing cell is an empty text.",
        source: "Jaccard (1901); sklearn.metrics.jaccard_score(average=\"samples\")",
        shorthand: Some("column"),
        parameters: &[
            column("column", "The column of texts."),
            optional(
                "both_empty",
                KeyType::Choice(&["refuse", "zero"]),
                "A row in which neither text has a word (0 / 0) is invalid (default), or has the score 0 as in \
                 scikit-learn. With `zero`, tables with fewer than two different words are invalid, as in \
                 scikit-learn.",
            ),
            optional(
                "other",
                KeyType::Choice(&["refuse", "print"]),
                "Cells that are not text are invalid (default), or converted to text: `1.0`, `True`.",
            ),
        ],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<JaccardOfWords>,
};

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BothEmpty {
    #[default]
    Refuse,
    Zero,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JaccardOfWords {
    column: String,
    #[serde(default)]
    both_empty: BothEmpty,
    #[serde(default)]
    other: OtherCells,
}

impl Metric for JaccardOfWords {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        let mut rows = Vec::with_capacity(answers.len());
        // The first word of all texts, and whether they contain a different one.
        let (mut first, mut several) = (None, false);
        for row in 0..answers.len() {
            let (truth, predicted) = (self.text(&answers, row)?, self.text(&prediction, row)?);
            let (truth, predicted): (HashSet<&str>, HashSet<&str>) =
                (words(&truth).collect(), words(&predicted).collect());
            for word in truth.iter().chain(&predicted) {
                several |= first.get_or_insert_with(|| (*word).to_owned()) != word;
            }
            let common = truth.intersection(&predicted).count();
            let all = truth.len() + predicted.len() - common;
            rows.push(match (all, self.both_empty) {
                (0, BothEmpty::Zero) => 0.0,
                (0, BothEmpty::Refuse) => return Err(self.without_words(&prediction)?),
                (all, _) => common as f64 / all as f64,
            });
        }
        match self.both_empty {
            BothEmpty::Refuse => Ok(Score::python(mean(&rows))),
            BothEmpty::Zero if several => Ok(Score::numpy(mean(&rows))),
            BothEmpty::Zero => {
                let message = "answers and submission together need two different words";
                Err(Refusal::new(RefusalKind::Undefined, message).in_column(&self.column))
            }
        }
    }
}

impl JaccardOfWords {
    /// Returns the error for a submission with a cell without words whose answer has none either. It names the first
    /// cell without words, which can be another one, because the message must not show which answers have no words.
    fn without_words(&self, prediction: &GradedColumn<'_>) -> Result<Refusal, Refusal> {
        let texts = prediction.map_cells(|row, _| {
            let is_empty = words(&self.text(prediction, row)?).next().is_none();
            Ok(is_empty.then_some(row))
        })?;
        let empty = texts.into_iter().flatten();
        let first = empty.min_by_key(|row| prediction.file_row(*row));
        let expected = "at least one word";
        Ok(prediction.refuse(RefusalKind::Undefined, first.unwrap_or_default(), expected))
    }

    /// Returns the cell in lower case.
    fn text(&self, column: &GradedColumn<'_>, row: usize) -> Result<String, Refusal> {
        let text = match column.value(row) {
            CellValue::Missing => Cow::Borrowed(""),
            value @ CellValue::Text(_) => text(value),
            value if self.other == OtherCells::Print => text(value),
            _ => return Err(column.refuse(RefusalKind::Type, row, "text")),
        };
        Ok(text.to_lowercase())
    }
}
