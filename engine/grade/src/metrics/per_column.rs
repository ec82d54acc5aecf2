//! Extends metrics that compare one column to several columns: the score is the mean over the columns.

use super::kind::Score;
use crate::python::numeric::mean;
use crate::refusal::Refusal;
use crate::spec::definition::Parameter;
use crate::table::columns::ColumnSelection;
use crate::table::pair::{GradedColumn, Pair};

/// The parameter for the columns to compare.
pub(super) const COLUMNS: Parameter = Parameter::columns("columns", "The columns to compare.");

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
