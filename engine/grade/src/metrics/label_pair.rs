//! Reads the labels of both tables, for metrics that compare one label per row.

use prep_formats::pandas::ColumnData;

use crate::python::numeric::python_float;
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Parameter, ParameterKind};
use crate::table::pair::{CellValue, GradedColumn, Pair};
use crate::table::target::{LABELS_AS, Labels, LabelsAs};

/// The parameter for the column with the labels.
pub(super) const COLUMN: Parameter = Parameter::column("column", "The label.");

/// The parameter for the conversion of cells to labels, which `accuracy` documents.
pub(super) const LABELS: Parameter = Parameter::optional(
    "labels_as",
    ParameterKind::Choice(LABELS_AS),
    "See `accuracy`.",
);

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
