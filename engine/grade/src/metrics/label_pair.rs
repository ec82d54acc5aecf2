//! Reads what several metrics compare: the labels of both tables, groups of rows by a column of the answers, and
//! several columns, whose score is the mean over the columns.

use std::collections::HashMap;

use prep_formats::pandas::ColumnData;
use prep_spec::words::{KeyType, SectionKey};

use super::kind::Score;
use crate::python::{mean, python_float};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{column, columns, optional};
use crate::table::column::{CellValue, GradedColumn};
use crate::table::key::key;
use crate::table::numbers::ColumnSelection;
use crate::table::pair::Pair;
use crate::table::target::{LABELS_AS, Labels, LabelsAs};

/// The parameter for the column with the labels.
pub(super) const COLUMN: SectionKey = column("column", "The label.");

/// The parameter for the conversion of cells to labels, which `accuracy` documents.
pub(super) const LABELS: SectionKey =
    optional("labels_as", KeyType::Choice(LABELS_AS), "See `accuracy`.");

/// True and predicted labels by row.
#[derive(Debug)]
pub(super) struct LabelPair<'a> {
    pub answers: GradedColumn<'a>,
    pub prediction: GradedColumn<'a>,
    pub truth: Labels<'a>,
    pub labels: Labels<'a>,
}

impl<'a> LabelPair<'a> {
    /// Reads the labels in `column`.
    ///
    /// # Errors
    /// If a table has no such column, if the tables have different numbers of rows, or if a cell is not a valid label.
    pub fn new(pair: &'a Pair<'a>, column: &'a str, how: LabelsAs) -> Result<Self, Refusal> {
        pair.check_same_rows()?;
        let prediction = pair.submission.column(column)?;
        let answers = pair.answers.column(column)?;
        let truth = Labels::from_column(&answers, how)?;
        let labels = match answers.data() {
            ColumnData::Bool(_) => Labels::expecting(&prediction, how, "True or False"),
            _ => Labels::from_column(&prediction, how),
        };
        Ok(LabelPair {
            truth,
            labels: labels?,
            answers,
            prediction,
        })
    }

    /// Returns the error for labels that are text in one table and numbers in the other.
    pub fn mixed(&self) -> Refusal {
        let expected = match self.answers.data() {
            ColumnData::Bool(_) => "True or False",
            ColumnData::Object(_) => "names, as in the answers",
            ColumnData::Int64(_) | ColumnData::UInt64(_) | ColumnData::Float64(_) => {
                "numbers, as in the answers"
            }
        };
        // One such cell makes the entire column text, so the error should name this cell and not the first one.
        let odd = |value| {
            matches!(value, CellValue::Text(text) if !text.eq_ignore_ascii_case("true")
        && !text.eq_ignore_ascii_case("false") && python_float(text).is_none())
        };
        let position = self.prediction.values().position(odd).unwrap_or_default();
        self.prediction
            .refuse(RefusalKind::Type, position, expected)
    }
}

/// Returns the positions of the rows of each group. Groups are in the order of their first row. Rows without a group
/// are left out.
pub(super) fn groups(pair: &Pair<'_>, column: &str) -> Result<Vec<Vec<usize>>, Refusal> {
    let column = pair.answers.column(column)?;
    let mut places = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (position, value) in column.values().enumerate() {
        if value == CellValue::Missing {
            continue;
        }
        let place = *places.entry(key(&column, position)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(position),
            None => groups.push(vec![position]),
        }
    }
    Ok(groups)
}

/// Returns the values at these positions.
pub(super) fn select(values: &[f64], positions: &[usize]) -> Vec<f64> {
    positions
        .iter()
        .filter_map(|&position| values.get(position).copied())
        .collect()
}

/// The parameter for the columns to compare.
pub(super) const COLUMNS: SectionKey = columns("columns", "The columns to compare.");

/// Returns the mean of `score` over `columns`. `score` compares a true and a predicted column.
pub(super) fn mean_over(
    columns: &ColumnSelection,
    pair: &Pair<'_>,
    score: impl Fn(&GradedColumn<'_>, &GradedColumn<'_>) -> Result<f64, Refusal>,
) -> Result<Score, Refusal> {
    pair.check_same_rows()?;
    let scores = columns
        .select(pair)
        .into_iter()
        .map(|name| score(&pair.answers.column(name)?, &pair.submission.column(name)?))
        .collect::<Result<Vec<f64>, Refusal>>()?;
    Ok(Score::numpy(mean(&scores)))
}
