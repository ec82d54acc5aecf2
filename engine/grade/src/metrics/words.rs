//! Metrics of answers that are texts or sets of words.

use std::borrow::Cow;
use std::collections::HashSet;

use prep_formats::pandas::ColumnData;
use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Metric, MetricKind, Score};
use crate::python::{BigInteger, is_python_space, mean, python_int, words};
use crate::refusal::{Refusal, RefusalKind};
use crate::shapes::mask::Mask;
use crate::spec::definition::{Definition, column, optional};
use crate::table::column::text;
use crate::table::column::{CellValue, GradedColumn};
use crate::table::pair::Pair;
use crate::table::target::OtherCells;

pub(super) const EXACT_MATCH: MetricKind = MetricKind::higher::<ExactMatch>(Definition {
    name: "exact_match",
    summary: "The fraction of rows whose prediction is one of the correct answers, or is empty if there is no \
              correct answer.",
    details: "A cell of the answers lists the correct answers, separated by whitespace. An empty cell has no correct \
              answer. The integers of spans are compared by value. Whitespace around a prediction is ignored.\n\n\
              A prediction is a span `FIRST:LAST` of integers, a string in the list of the key `words` \
              (case-sensitive), or empty. Any other text is invalid.",
    source: "sklearn.metrics.f1_score(average=\"micro\") of one label per row; Rajpurkar et al. (2016), SQuAD",
    shorthand: None,
    parameters: &[
        column("column", "The column of predictions."),
        column("valid", "The answers' column with the correct answers."),
        optional(
            "words",
            KeyType::Strings,
            "Words that are valid predictions in addition to spans `FIRST:LAST`.",
        ),
    ],
})
.with_truth(&["valid"]);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExactMatch {
    column: String,
    valid: String,
    #[serde(default)]
    words: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Guess {
    Span(BigInteger, BigInteger),
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
            let is_right = match text_or_empty(prediction.value(row)).trim_matches(is_python_space)
            {
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
    /// Returns the correct answers in a cell. Returns `None` if one of them is neither a span nor a permitted word.
    fn valid(&self, cell: CellValue<'_>) -> Option<Vec<Guess>> {
        words(&text_or_empty(cell))
            .map(|word| self.read(word))
            .collect()
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

/// Returns the cell as text, or an empty text if the cell is missing.
fn text_or_empty(cell: CellValue<'_>) -> Cow<'_, str> {
    match cell {
        CellValue::Missing => Cow::Borrowed(""),
        value => text(value),
    }
}

pub(super) const F1_OF_WORDS: MetricKind = MetricKind::higher::<F1OfWords>(Definition {
    name: "f1_of_words",
    summary: "Micro F1 over rows and labels; a cell contains a row's labels, separated by spaces.",
    details: "The score is 2 TP / (2 TP + FP + FN) over all rows and all labels that occur in the answers. Predicted \
              labels that occur in no row of the answers are ignored, except with `average: rows`.\n\n\
              Repetitions and order do not matter, but case does. A missing cell has no labels. If all cells of a \
              column are numbers or booleans, the column is invalid.",
    source: "sklearn.metrics.f1_score(average=\"micro\") after sklearn.preprocessing.MultiLabelBinarizer",
    shorthand: Some("column"),
    parameters: &[
        column("column", "The column of labels."),
        optional(
            "average",
            KeyType::Choice(&["micro", "rows"]),
            "Whether F1 is computed once, over all rows (default), or for each row and averaged over the rows. A row \
             without labels in both tables has the score 0.",
        ),
    ],
});

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WordAverage {
    #[default]
    Micro,
    Rows,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct F1OfWords {
    column: String,
    #[serde(default)]
    average: WordAverage,
}

impl Metric for F1OfWords {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let (answers, prediction) = pair.both(&self.column)?;
        let (truth, predicted) = (word_sets(&answers)?, word_sets(&prediction)?);
        if self.average == WordAverage::Rows {
            let rows = truth.iter().zip(&predicted).map(|(truth, predicted)| {
                let marks = (truth.len() + predicted.len()).max(1);
                2.0 * truth.intersection(predicted).count() as f64 / marks as f64
            });
            return Ok(Score::numpy(mean(&rows.collect::<Vec<f64>>())));
        }
        let classes: HashSet<&str> = truth.iter().flatten().copied().collect();
        if classes.len() < 2 {
            let message = "the answers need two different labels";
            return Err(Refusal::new(RefusalKind::Answers, message).in_column(&self.column));
        }
        let (mut hits, mut marks) = (0u64, 0u64);
        for (truth, predicted) in truth.iter().zip(&predicted) {
            hits += truth.intersection(predicted).count() as u64;
            marks += (truth.len() + predicted.intersection(&classes).count()) as u64;
        }
        // The denominator is not 0, because the answers have at least two labels.
        Ok(Score::numpy(2.0 * hits as f64 / marks as f64))
    }
}

fn word_sets<'a>(column: &GradedColumn<'a>) -> Result<Vec<HashSet<&'a str>>, Refusal> {
    let empty = match column.data() {
        ColumnData::Float64(_) => column.values().all(|value| value == CellValue::Missing),
        ColumnData::Object(_) => true,
        ColumnData::Int64(_) | ColumnData::UInt64(_) | ColumnData::Bool(_) => false,
    };
    let row = |(position, value): (usize, CellValue<'a>)| match value {
        CellValue::Text(text) => Ok(words(text).collect()),
        CellValue::Missing if empty => Ok(HashSet::new()),
        CellValue::Missing
        | CellValue::Bool(_)
        | CellValue::Int(_)
        | CellValue::UInt(_)
        | CellValue::Float(_) => Err(column.refuse(
            RefusalKind::Type,
            position,
            "labels as text: at least one cell of the column must be text",
        )),
    };
    column.values().enumerate().map(row).collect()
}

pub(super) const F1_OF_SPANS: MetricKind = MetricKind::higher::<F1OfSpans>(Definition {
    name: "f1_of_spans",
    summary: "Micro F1 of the characters in spans.",
    details: "A cell lists spans, `START END`, separated by `;`. A span contains the characters from START up to END - \
              1. A missing cell has no spans. A span is invalid if its START is negative, or if its END is not above \
              START.\n\n\
              The score is 2 TP / (2 TP + FP + FN) over the characters of all rows, or 0 if TP is 0. If spans of a row \
              overlap, their common characters are counted once.",
    source: "Kaggle's evaluation of NBME - Score Clinical Patient Notes; sklearn.metrics.f1_score",
    shorthand: Some("column"),
    parameters: &[column("column", "The column of spans.")],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct F1OfSpans {
    column: String,
}

impl Metric for F1OfSpans {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        let (predicted, truth) = (spans(&prediction)?, spans(&answers)?);
        let (mut hits, mut marks) = (0u64, 0u64);
        for (truth, predicted) in truth.iter().zip(&predicted) {
            hits += truth.overlap(predicted);
            marks = marks
                .saturating_add(truth.area())
                .saturating_add(predicted.area());
        }
        Ok(Score::numpy(2.0 * hits as f64 / marks.max(1) as f64))
    }
}

/// Maximum position at which a span can end. With larger positions, sums of lengths might not be exact.
const MAX_POSITION: i128 = 1 << 40;

fn spans(column: &GradedColumn<'_>) -> Result<Vec<Mask>, Refusal> {
    column.map_cells(|row, value| {
        let cell = text_or_empty(value);
        let listed = cell.split(';').filter(|span| words(span).next().is_some());
        let ranges = listed.map(|span| {
            let numbers: Option<Vec<i128>> = words(span).map(python_int).collect();
            match numbers?.as_slice() {
                &[start, end] if 0 <= start && start < end && end <= MAX_POSITION => {
                    Some((u64::try_from(start).ok()?, u64::try_from(end).ok()?))
                }
                _ => None,
            }
        });
        let ranges: Option<Vec<(u64, u64)>> = ranges.collect();
        let expected = "spans `START END`, separated by `;`, with integers 0 <= START < END";
        let ranges = ranges.ok_or_else(|| column.refuse(RefusalKind::Type, row, expected))?;
        Ok(Mask::of_ranges(ranges))
    })
}

pub(super) const JACCARD_OF_WORDS: MetricKind = MetricKind::higher::<JaccardOfWords>(Definition {
    name: "jaccard_of_words",
    summary: "Mean Jaccard index of the words of the true and the predicted text.",
    details: "The score of a row is the number of words that are in both texts, divided by the number of words that \
              are in at least one of them.\n\n\
              Texts are converted to lower case (Unicode) and split into words only at whitespace, so `end.` and `end` \
              are different words. Repetitions and order do not matter. A missing cell is an empty string.",
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
            "`refuse` (default): a cell that is not text is invalid. `print`: such a cell is converted to text, for example `1.0` or `True`.",
        ),
    ],
});

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EmptyTexts {
    #[default]
    Refuse,
    Zero,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JaccardOfWords {
    column: String,
    #[serde(default)]
    both_empty: EmptyTexts,
    #[serde(default)]
    other: OtherCells,
}

impl Metric for JaccardOfWords {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        let mut rows = Vec::with_capacity(answers.len());
        // `first` is the first word that the loop finds. `several` becomes true if a later word differs from it.
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
                (0, EmptyTexts::Zero) => 0.0,
                (0, EmptyTexts::Refuse) => return Err(self.without_words(&prediction)?),
                (all, _) => common as f64 / all as f64,
            });
        }
        match self.both_empty {
            EmptyTexts::Refuse => Ok(Score::python(mean(&rows))),
            EmptyTexts::Zero if several => Ok(Score::numpy(mean(&rows))),
            EmptyTexts::Zero => {
                let message =
                    "the answers and the submission together must contain two different words";
                Err(Refusal::new(RefusalKind::Undefined, message).in_column(&self.column))
            }
        }
    }
}

impl JaccardOfWords {
    /// Returns the error for a row that has no words in the answer and no words in the prediction.
    ///
    /// The message must not reveal which answers have no words. Therefore the message names the first prediction without
    /// words, which may be in a different row.
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
