//! `f1_of_words`: micro F1 score of sets of labels, written as words.

use std::collections::HashSet;

use prep_formats::pandas::ColumnData;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::words as split;
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, column};
use crate::table::pair::{CellValue, GradedColumn, Pair};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "f1_of_words",
        summary: "Micro F1 over rows and labels; a cell contains a row's labels, separated by spaces.",
        details: "2 TP / (2 TP + FP + FN) over all rows and the labels that occur in the answers, 0 without TP. \
                  Predicted labels that never occur in the answers are ignored. Repetitions and order do not matter, \
                  but case does. A missing cell has no labels. A column with only numbers or booleans is invalid.",
        source: "sklearn.metrics.f1_score(average=\"micro\") after sklearn.preprocessing.MultiLabelBinarizer",
        shorthand: Some("column"),
        parameters: &[column("column", "The column of labels.")],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<F1OfWords>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct F1OfWords {
    column: String,
}

impl Metric for F1OfWords {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let (answers, prediction) = pair.both(&self.column)?;
        let (truth, predicted) = (words(&answers)?, words(&prediction)?);
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
        // The answers have labels, so the denominator is not 0.
        Ok(Score::numpy(2.0 * hits as f64 / marks as f64))
    }
}

/// Returns the set of words of each row.
fn words<'a>(column: &GradedColumn<'a>) -> Result<Vec<HashSet<&'a str>>, Refusal> {
    let empty = match column.data() {
        ColumnData::Float64(_) => column.values().all(|value| value == CellValue::Missing),
        ColumnData::Object(_) => true,
        ColumnData::Int64(_) | ColumnData::UInt64(_) | ColumnData::Bool(_) => false,
    };
    let row = |(position, value): (usize, CellValue<'a>)| match value {
        CellValue::Text(text) => Ok(split(text).collect()),
        CellValue::Missing if empty => Ok(HashSet::new()),
        CellValue::Missing
        | CellValue::Bool(_)
        | CellValue::Int(_)
        | CellValue::UInt(_)
        | CellValue::Float(_) => Err(column.refuse(
            RefusalKind::Type,
            position,
            "labels as text; at least one cell must not read as a number",
        )),
    };
    column.values().enumerate().map(row).collect()
}
