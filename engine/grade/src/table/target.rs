//! Reads class labels and compares their types like scikit-learn (`type_of_target`).

use std::borrow::Cow;
use std::collections::HashSet;

use prep_formats::pandas::ColumnData;
use serde::Deserialize;

use crate::python::{python_int, words};
use crate::refusal::{Refusal, RefusalKind};
use crate::table::column::{CellValue, GradedColumn, text};
use crate::table::key::{Identifier, key};

/// The conversion of cells to labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelsAs {
    /// Cells are not converted.
    #[default]
    Column,
    /// Like NumPy's conversion of a list: if one cell is text, all cells become text, and a missing cell becomes `nan`.
    List,
    /// Always as text: `1`, `1.0`, `True`, and `nan` for a missing cell.
    Text,
    /// Each cell is converted with Python's `int`: fractions are cut off, and text must be an integer.
    Integer,
    /// An integer, or the first word of a text, converted with Python's `int`. Decimal numbers are invalid.
    FirstInteger,
}

pub const LABELS_AS: &[&str] = &["column", "list", "text", "integer", "first_integer"];

/// The treatment of cells that are not strings, in a metric of strings.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherCells {
    #[default]
    Refuse,
    /// Converts the cells to text.
    Print,
}

#[derive(Debug, Clone)]
pub enum Labels<'a> {
    /// Booleans are 0 and 1.
    Integers(Vec<i128>),
    Text(Vec<Cow<'a, str>>),
}

/// The label of positive rows. The default is 1.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected an integer or a string")]
pub enum PositiveLabel {
    Integer(i64),
    Text(String),
}

impl Default for PositiveLabel {
    fn default() -> Self {
        PositiveLabel::Integer(1)
    }
}

impl PartialEq<i128> for PositiveLabel {
    fn eq(&self, other: &i128) -> bool {
        matches!(self, PositiveLabel::Integer(label) if i128::from(*label) == *other)
    }
}

impl PartialEq<Cow<'_, str>> for PositiveLabel {
    fn eq(&self, other: &Cow<'_, str>) -> bool {
        matches!(self, PositiveLabel::Text(label) if label == other)
    }
}

impl<'a> Labels<'a> {
    /// Reads the labels of a column. Fails for labels that scikit-learn rejects: fractions, infinite or missing values, and
    /// a mix of strings and numbers.
    pub fn from_column(column: &GradedColumn<'a>, how: LabelsAs) -> Result<Self, Refusal> {
        Labels::expecting(column, how, "a class label: an integer or a name")
    }

    /// Like [`from_column`](Self::from_column). The error for an invalid number describes valid labels with `expected`.
    pub fn expecting(
        column: &GradedColumn<'a>,
        how: LabelsAs,
        expected: &str,
    ) -> Result<Self, Refusal> {
        let object = matches!(column.data(), ColumnData::Object(_));
        let texts = column
            .values()
            .filter(|value| matches!(value, CellValue::Text(_)))
            .count();
        match how {
            LabelsAs::Text => Ok(Labels::Text(column.values().map(text).collect())),
            LabelsAs::List if texts > 0 => Ok(Labels::Text(column.values().map(text).collect())),
            LabelsAs::Column if object && texts > 0 => text_labels(column),
            LabelsAs::Column if object && !column.is_empty() => {
                let missing = (0..column.len()).find(|position| column.is_missing(*position));
                let (position, expected) = match missing {
                    Some(position) => (position, "a label"),
                    None => (0, "labels of one type"),
                };
                Err(column.refuse(RefusalKind::Missing, position, expected))
            }
            LabelsAs::Integer | LabelsAs::FirstInteger => python_integers(column, how),
            LabelsAs::List => list_of_numbers(column, expected),
            LabelsAs::Column => integers_by_value(column, expected),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Labels::Integers(values) => values.len(),
            Labels::Text(values) => values.len(),
        }
    }

    pub fn equal_to(&self, label: &PositiveLabel) -> Vec<bool> {
        match self {
            Labels::Integers(values) => values.iter().map(|value| label == value).collect(),
            Labels::Text(values) => values.iter().map(|value| label == value).collect(),
        }
    }

    pub fn is_binary(&self) -> bool {
        match self {
            Labels::Integers(values) => has_at_most_two(values),
            Labels::Text(values) => has_at_most_two(values),
        }
    }
}

impl Labels<'_> {
    pub fn is_constant(&self) -> bool {
        match self {
            Labels::Integers(values) => values.windows(2).all(|pair| pair.first() == pair.last()),
            Labels::Text(values) => values.windows(2).all(|pair| pair.first() == pair.last()),
        }
    }
}

fn has_at_most_two<T: Eq + std::hash::Hash>(values: &[T]) -> bool {
    let mut seen = HashSet::new();
    values
        .iter()
        .all(|value| !seen.insert(value) || seen.len() <= 2)
}

fn text_labels<'a>(column: &GradedColumn<'a>) -> Result<Labels<'a>, Refusal> {
    let label = |position, value: CellValue<'a>| match value {
        CellValue::Text(text) => Ok(Cow::Borrowed(text)),
        CellValue::Missing => Err(column.refuse(RefusalKind::Missing, position, "a label")),
        _ => Err(column.refuse(RefusalKind::Type, position, "text, as in the other rows")),
    };
    column.map_cells(label).map(Labels::Text)
}

fn python_integers<'a>(column: &GradedColumn<'a>, how: LabelsAs) -> Result<Labels<'a>, Refusal> {
    let first = how == LabelsAs::FirstInteger;
    let label = |position, value: CellValue<'a>| {
        let number = match value {
            CellValue::Float(value) => (value.is_finite() && !first).then_some(value as i128),
            CellValue::Text(text) if first => words(text).next().and_then(python_int),
            CellValue::Text(text) => python_int(text),
            value => value.integer(),
        };
        let kind = if value == CellValue::Missing {
            RefusalKind::Missing
        } else {
            RefusalKind::Type
        };
        number.ok_or_else(|| column.refuse(kind, position, "an integer"))
    };
    let labels: Vec<i128> = column.map_cells(label)?;
    // NumPy stores a list of integers as integers only if all of them fit into `int64`, or all of them fit into `uint64`.
    // Integers in other lists are not valid labels.
    let signed = |label: &i128| i64::try_from(*label).is_ok();
    let beyond = |label: &i128| u64::try_from(*label).is_ok() && !signed(label);
    match labels.iter().position(|label| !signed(label)) {
        Some(odd) if !labels.iter().all(beyond) => {
            Err(column.refuse(RefusalKind::Range, odd, "an integer of 64 bits"))
        }
        _ => Ok(Labels::Integers(labels)),
    }
}

/// Reads labels from a list of numbers. A list that contains integers both below and above 2^63 is an error.
///
/// NumPy converts such a list to doubles, in which the last digits of the integers are lost.
fn list_of_numbers<'a>(column: &GradedColumn<'a>, expected: &str) -> Result<Labels<'a>, Refusal> {
    let beyond = |value| matches!(value, CellValue::UInt(value) if value > i64::MAX as u64);
    match column.values().position(beyond) {
        Some(odd) if !column.values().all(beyond) => {
            Err(column.refuse(RefusalKind::Range, odd, "a class label below 2^63"))
        }
        _ => integers_by_value(column, expected),
    }
}

fn integers_by_value<'a>(column: &GradedColumn<'a>, expected: &str) -> Result<Labels<'a>, Refusal> {
    let label = |position: usize, _| match key(column, position) {
        Identifier::Integer(value)
            if value >= i128::from(i64::MIN) && value <= i128::from(u64::MAX) =>
        {
            let double = matches!(column.value(position), CellValue::Float(_));
            if double && value > i128::from(i64::MAX) {
                return Err(column.refuse(
                    RefusalKind::Range,
                    position,
                    "a class label within 64 bits",
                ));
            }
            Ok(value)
        }
        Identifier::Missing(_) | Identifier::MissingText => {
            Err(column.refuse(RefusalKind::Missing, position, "a class label"))
        }
        _ => Err(column.refuse(RefusalKind::Type, position, expected)),
    };
    column.map_cells(label).map(Labels::Integers)
}
