//! Selects the columns that a pipeline names, and converts them to numbers like scikit-learn (`check_array`).
//!
//! Booleans are 0 and 1, and strings are parsed like Python's `float`. Missing and infinite values are invalid.

use prep_formats::pandas::ColumnData;
use serde::Deserialize;

use super::column::{CellValue, GradedColumn};
use super::pair::{Pair, Side};
use super::threads::both;
use crate::python::python_float;
use crate::refusal::{Refusal, RefusalKind};

/// A double represents all integers up to this number exactly.
const EXACT: u128 = 1 << 53;

/// Returns the values of a column as finite doubles. A column without rows is an error.
pub fn floats(column: &GradedColumn<'_>) -> Result<Vec<f64>, Refusal> {
    if column.is_empty() {
        return Err(
            Refusal::new(RefusalKind::RowCount, "there are no rows to grade")
                .in_column(column.name),
        );
    }
    finite_doubles(column).map_or_else(
        || column.map_cells(|position, value| finite(column, position, value)),
        Ok,
    )
}

/// Returns the values of a column of doubles or integers. Returns `None` if a value is missing or infinite, or for a column
/// of another type.
fn finite_doubles(column: &GradedColumn<'_>) -> Option<Vec<f64>> {
    let rows = (0..column.len()).map(|position| column.file_position(position));
    match column.data() {
        ColumnData::Float64(values) => {
            let values = rows.map(|row| values.get(row? as usize));
            values
                .map(|value| value.filter(|value| value.is_finite()))
                .collect()
        }
        ColumnData::Int64(values) => {
            let values = rows.map(|row| values.get(row? as usize));
            values
                .map(|value| value.map(|value| value as f64))
                .collect()
        }
        _ => None,
    }
}

/// Returns the finite number in a cell.
pub fn finite(
    column: &GradedColumn<'_>,
    position: usize,
    value: CellValue<'_>,
) -> Result<f64, Refusal> {
    match number(value) {
        Some(number) if number.is_finite() => Ok(number),
        Some(_) => Err(column.refuse(RefusalKind::Range, position, "a finite number")),
        None if value == CellValue::Missing => {
            Err(column.refuse(RefusalKind::Missing, position, "a number"))
        }
        None => Err(column.refuse(RefusalKind::Type, position, "a number")),
    }
}

/// Returns the number in a cell. Returns `None` if the cell is missing or not a number.
pub fn number(value: CellValue<'_>) -> Option<f64> {
    match value {
        CellValue::Missing => None,
        CellValue::Bool(value) => Some(f64::from(u8::from(value))),
        CellValue::Int(value) => Some(value as f64),
        CellValue::UInt(value) => Some(value as f64),
        CellValue::Float(value) => Some(value),
        CellValue::Text(text) => python_float(text),
    }
}

/// Like [`floats`], but for metrics that use only the order of values. If different integers would become equal as doubles,
/// all values are replaced with their ranks.
pub fn scores(column: &GradedColumn<'_>) -> Result<Vec<f64>, Refusal> {
    if has_large_integers(column)
        && let Some(values) = integers(column)
    {
        let mut sorted = values.clone();
        sorted.sort_unstable();
        sorted.dedup();
        return Ok(values
            .iter()
            .map(|value| sorted.partition_point(|other| other < value) as f64)
            .collect());
    }
    floats(column)
}

/// Returns whether a column contains integers that doubles cannot represent exactly.
pub fn has_large_integers(column: &GradedColumn<'_>) -> bool {
    let mut integers = column.values().filter_map(integer);
    integers.any(|value| value.unsigned_abs() > EXACT)
}

fn integer(value: CellValue<'_>) -> Option<i128> {
    match value {
        CellValue::Bool(_) => None,
        value => value.integer(),
    }
}

/// Returns the values of a column of integers. Returns `None` for a column with any other value.
fn integers(column: &GradedColumn<'_>) -> Option<Vec<i128>> {
    column.values().map(integer).collect()
}

/// Like [`subtractable`], but for metrics that use only the differences of the values. If doubles cannot represent the
/// integers of both columns exactly, returns the exact differences in place of the true values, and zeros in place of the
/// predictions.
pub fn differences(
    truth: &GradedColumn<'_>,
    predicted: &GradedColumn<'_>,
) -> Result<(Vec<f64>, Vec<f64>), Refusal> {
    let both = subtractable(truth, predicted)?;
    // Only integers can be too large, so usual columns of doubles are not read again.
    let are_integers = [truth, predicted]
        .iter()
        .all(|column| matches!(column.data(), ColumnData::Int64(_) | ColumnData::UInt64(_)));
    if are_integers
        && (has_large_integers(truth) || has_large_integers(predicted))
        && let Some((truth, predicted)) = integers(truth).zip(integers(predicted))
    {
        let pairs = truth.iter().zip(&predicted);
        let exact = pairs.map(|(truth, predicted)| (truth - predicted) as f64);
        return Ok((exact.collect(), vec![0.0; truth.len()]));
    }
    Ok(both)
}

/// Like [`both_floats`], but for metrics that subtract the values. Two columns of booleans are an error, because NumPy
/// cannot subtract booleans.
pub fn subtractable(
    truth: &GradedColumn<'_>,
    predicted: &GradedColumn<'_>,
) -> Result<(Vec<f64>, Vec<f64>), Refusal> {
    if matches!(
        (truth.data(), predicted.data()),
        (ColumnData::Bool(_), ColumnData::Bool(_))
    ) {
        return Err(predicted.refuse(
            RefusalKind::Type,
            0,
            "a number: booleans cannot be subtracted",
        ));
    }
    both_floats(truth, predicted)
}

/// Returns the values of a true and of a predicted column, as [`floats`] does.
pub fn both_floats(
    truth: &GradedColumn<'_>,
    predicted: &GradedColumn<'_>,
) -> Result<(Vec<f64>, Vec<f64>), Refusal> {
    let rows = predicted.len();
    let (predicted, truth) = both(rows, || floats(predicted), || floats(truth));
    Ok((truth?, predicted?))
}

/// Returns the values of a column as doubles, for metrics that accept NaN. A missing cell becomes NaN. A column that is not
/// numeric in pandas is an error.
pub fn doubles(column: &GradedColumn<'_>) -> Result<Vec<f64>, Refusal> {
    check_numeric_type(column)?;
    Ok(column
        .values()
        .map(|value| number(value).unwrap_or(f64::NAN))
        .collect())
}

/// Returns an error if a column is not numeric in pandas.
pub fn check_numeric_type(column: &GradedColumn<'_>) -> Result<(), Refusal> {
    match column.data() {
        ColumnData::Object(_) => {
            let odd = column.odd_text().unwrap_or_default();
            Err(column.refuse(RefusalKind::Type, odd, "a number, in a column of numbers"))
        }
        _ => Ok(()),
    }
}

/// Returns the number in a cell, or NaN if the cell is missing. Text is an error.
pub fn number_or_nan(column: &GradedColumn<'_>, position: usize) -> Result<f64, Refusal> {
    match column.value(position) {
        CellValue::Text(_) => Err(column.refuse(RefusalKind::Type, position, "a number")),
        value => Ok(number(value).unwrap_or(f64::NAN)),
    }
}

/// The columns that a parameter selects.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "expected the name of a column, a list of names, or `{ all_except: [NAME, ...] }`"
)]
pub enum ColumnSelection {
    One(String),
    Many(Vec<String>),
    AllExcept {
        all_except: Names,
        /// The table from which all columns are selected, except those in `all_except`.
        #[serde(default)]
        of: ColumnSide,
    },
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnSide {
    #[default]
    Answers,
    Submission,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "expected the name of a column, or a list of names"
)]
pub enum Names {
    One(String),
    Many(Vec<String>),
}

impl Names {
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Names::One(other) => other == name,
            Names::Many(names) => names.iter().any(|other| other == name),
        }
    }
}

impl Default for ColumnSelection {
    fn default() -> Self {
        ColumnSelection::AllExcept {
            all_except: Names::Many(Vec::new()),
            of: ColumnSide::Answers,
        }
    }
}

impl ColumnSelection {
    /// Returns the selected names. `all_except` selects the other columns of the table that `of` names.
    pub fn select<'s>(&'s self, pair: &'s Pair<'_>) -> Vec<&'s str> {
        match self {
            ColumnSelection::AllExcept {
                of: ColumnSide::Submission,
                ..
            } => self.resolve(&pair.submission),
            _ => self.resolve(&pair.answers),
        }
    }

    /// Returns the selected names. `all_except` selects the other columns of `side`.
    pub fn resolve<'s>(&'s self, side: &'s Side<'_>) -> Vec<&'s str> {
        match self {
            ColumnSelection::One(name) => vec![name],
            ColumnSelection::Many(names) => names.iter().map(String::as_str).collect(),
            ColumnSelection::AllExcept { all_except, .. } => side
                .names()
                .filter(|name| !all_except.contains(name))
                .collect(),
        }
    }

    /// Like [`select`](Self::select), but does not borrow from `pair`, so that a rule can change `pair`.
    pub fn resolve_owned(&self, pair: &Pair<'_>) -> Vec<String> {
        self.select(pair).into_iter().map(str::to_owned).collect()
    }
}
