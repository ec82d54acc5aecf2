//! Metrics of one column: for several columns the plain mean of theirs.

use super::Score;
use crate::columns::Columns;
use crate::definition::{Parameter, ParameterKind};
use crate::numeric::mean;
use crate::pair::{Column, Pair};
use crate::refusal::Refusal;

/// The columns that are compared.
pub(super) const COLUMNS: Parameter = Parameter {
    name: "columns",
    kind: ParameterKind::Columns,
    required: true,
    doc: "The columns that are compared.",
};

/// The mean over `columns` of what `score` makes of the true and the predicted column.
pub(super) fn mean_over(
    columns: &Columns,
    pair: &Pair<'_>,
    score: impl Fn(&Column<'_>, &Column<'_>) -> Result<f64, Refusal>,
) -> Result<Score, Refusal> {
    pair.check_same_rows()?;
    let scores = columns
        .of(pair)
        .into_iter()
        .map(|name| score(&pair.answers.column(name)?, &pair.submission.column(name)?))
        .collect::<Result<Vec<f64>, Refusal>>()?;
    Ok(Score::numpy(mean(&scores)))
}
