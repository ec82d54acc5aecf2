//! Compares identifiers of rows like Python, and describes how the identifiers of a submission differ from those of the
//! answers.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use prep_formats::pandas::ColumnData;

use super::column::{CellValue, GradedColumn};
use super::numbers::number;
use super::threads::both;
use crate::refusal::{Refusal, RefusalKind, count};

/// An identifier that can be an element of a set. Numbers of different types are compared by value. A number never equals a
/// text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Identifier<'a> {
    Integer(i128),
    Number(Bits),
    Text(&'a str),
    /// A missing cell in a column of text, or of a merge. In a set, these cells are equal, because pandas uses one object for all of them.
    MissingText,
    /// A missing cell in a column of numbers. Like NaN, it must not equal another missing cell. Therefore it contains the
    /// number of its row.
    Missing(u64),
}

/// A double that is compared by its bits.
#[derive(Debug, Clone, Copy)]
pub struct Bits(f64);

impl PartialEq for Bits {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Bits {}

impl Hash for Bits {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// Returns the identifier in the cell at a position.
pub fn key<'a>(column: &GradedColumn<'a>, position: usize) -> Identifier<'a> {
    match column.value(position) {
        CellValue::Bool(value) => Identifier::Integer(i128::from(value)),
        CellValue::Int(value) => Identifier::Integer(i128::from(value)),
        CellValue::UInt(value) => Identifier::Integer(i128::from(value)),
        // Larger doubles do not equal any integer of 64 bits.
        CellValue::Float(value) if value.fract() == 0.0 && value.abs() < 1e38 => {
            Identifier::Integer(value as i128)
        }
        CellValue::Float(value) => Identifier::Number(Bits(value)),
        CellValue::Text(text) => Identifier::Text(text),
        CellValue::Missing if matches!(column.data(), ColumnData::Object(_)) => {
            Identifier::MissingText
        }
        CellValue::Missing => {
            Identifier::Missing(column.file_row(position) << 1 | u64::from(column.role() as u8))
        }
    }
}

/// Same as [`key`], but all missing cells are equal, as in `merge` and `isin` of pandas.
pub fn merge_key<'a>(column: &GradedColumn<'a>, position: usize) -> Identifier<'a> {
    match key(column, position) {
        Identifier::Missing(_) => Identifier::MissingText,
        other => other,
    }
}

/// Returns the first position at which two columns of the same length have different identifiers.
pub fn first_difference(a: &GradedColumn<'_>, b: &GradedColumn<'_>) -> Option<usize> {
    let first_in = |mut positions: Range<usize>| {
        positions.find(|&position| {
            a.fetch(position);
            b.fetch(position);
            match (a.text(position), b.text(position)) {
                (Some(a), Some(b)) => a != b,
                _ => !equal(a.value(position), b.value(position)),
            }
        })
    };
    let middle = a.len() / 2;
    let (first, second) = both(
        a.len(),
        || first_in(0..middle),
        || first_in(middle..a.len()),
    );
    first.or(second)
}

/// Returns whether NumPy treats two cells as equal: a missing cell equals no cell, and an integer is converted to a
/// double if the other cell is a double.
pub fn equal(a: CellValue<'_>, b: CellValue<'_>) -> bool {
    match (a, b) {
        (CellValue::Text(a), CellValue::Text(b)) => a == b,
        (CellValue::Missing | CellValue::Text(_), _)
        | (_, CellValue::Missing | CellValue::Text(_)) => false,
        (CellValue::Float(_), _) | (_, CellValue::Float(_)) => number(a) == number(b),
        (a, b) => a.integer() == b.integer(),
    }
}

/// Returns the error for tables with different identifiers. `position` must be the first position at which they differ.
///
/// The message names an unknown identifier of the submission. If all are known, it names a repeated identifier and a missing
/// identifier. This reveals no answers, because identifiers are public.
pub fn differ(
    submission: &GradedColumn<'_>,
    answers: &GradedColumn<'_>,
    position: usize,
) -> Refusal {
    let mut left: HashMap<Identifier<'_>, usize> = HashMap::new();
    for row in 0..answers.len() {
        *left.entry(key(answers, row)).or_default() += 1;
    }
    let (mut unknown, mut repeated) = (Vec::new(), Vec::new());
    let mut positions: Vec<usize> = (0..submission.len()).collect();
    positions.sort_by_key(|position| submission.file_position(*position));
    for position in positions {
        match left.get_mut(&key(submission, position)) {
            None => unknown.push(position),
            Some(0) => repeated.push(position),
            Some(rest) => *rest -= 1,
        }
    }
    let missing = |row: &usize| left.get(&key(answers, *row)).is_some_and(|rest| *rest > 0);
    let missing = (0..answers.len()).find(missing);
    let missing = missing.map(|row| answers.for_message(row));
    match (unknown.as_slice(), repeated.first(), missing) {
        ([only], _, Some(missing)) => {
            let expected = format!("{missing}: identifiers must be those of the answers");
            submission.refuse(RefusalKind::Ids, *only, &expected)
        }
        ([first, _, ..], _, _) => {
            let (all, rows) = (unknown.len(), count(submission.len(), "row"));
            let expected =
                format!("an identifier of the answers; {all} of {rows} have unknown identifiers");
            submission.refuse(RefusalKind::Ids, *first, &expected)
        }
        ([], Some(repeated), Some(missing)) => {
            let found = submission.for_message(*repeated);
            let message = format!("{found} is repeated, and there is no row for {missing}");
            Refusal::new(RefusalKind::Ids, message)
                .in_column(submission.name)
                .in_row(submission.file_row(*repeated))
        }
        // Both tables have the same identifiers, but NumPy does not treat them as equal: a missing identifier equals
        // nothing, and a large integer may not equal the double to which it is converted.
        _ => {
            let expected = answers.for_message(position);
            let expected = format!("{expected}: identifiers must be those of the answers");
            submission.refuse(RefusalKind::Ids, position, &expected)
        }
    }
}
