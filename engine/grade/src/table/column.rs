//! A column of answers or of a submission, and its cells.

use std::borrow::Cow;

pub use prep_formats::pandas::CellValue;
use prep_formats::pandas::{ColumnData, PREFETCH_ROWS};

use prep_spec::shortened;

use crate::python::{python_float, python_repr};
use crate::refusal::{Refusal, RefusalKind};

/// The answers or the submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The answers.
    Answers,
    /// The submission.
    Submission,
}

/// A column of a table, in the current order of the rows. A *position* is an index into this order, from 0.
#[derive(Debug, Clone, Copy)]
pub struct GradedColumn<'a> {
    /// The column's name.
    pub name: &'a str,
    pub(super) data: &'a ColumnData,
    pub(super) positions: &'a Positions,
    pub(super) role: Role,
}

impl<'a> GradedColumn<'a> {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.positions.len() == 0
    }

    /// Returns the table that the column belongs to.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the cells of the entire file, in the order of the file.
    pub fn data(&self) -> &'a ColumnData {
        self.data
    }

    /// Returns the index in the file, from 0, of the row at a position.
    pub fn file_position(&self, position: usize) -> Option<u32> {
        self.positions.get(position)
    }

    /// Returns the number in the file, from 1, of the row at a position.
    pub fn file_row(&self, position: usize) -> u64 {
        self.positions
            .get(position)
            .map_or(0, |row| u64::from(row) + 1)
    }

    /// Returns the cell at a position. Beyond the end of the column, the cell is missing.
    pub fn value(&self, position: usize) -> CellValue<'a> {
        self.positions
            .get(position)
            .map_or(CellValue::Missing, |row| self.data.value(row as usize))
    }

    pub(crate) fn is_missing(&self, position: usize) -> bool {
        match (self.data, self.positions.get(position)) {
            // Unlike `value`, this does not access the memory of the text.
            (ColumnData::Object(cells), Some(row)) => cells.is_missing(row as usize),
            _ => self.value(position) == CellValue::Missing,
        }
    }

    /// Returns the bytes of a text, or `None` for other cells.
    pub(crate) fn text(&self, position: usize) -> Option<&'a [u8]> {
        match self.data {
            ColumnData::Object(cells) => cells.text(self.positions.get(position)? as usize),
            _ => None,
        }
    }

    /// Returns the position of the text because of which pandas reads the column as text. This is the first text in the
    /// file that is not a number. If all texts are numbers, it is the first text.
    pub(crate) fn odd_text(&self) -> Option<usize> {
        let texts = self.values().enumerate();
        let texts = texts.filter_map(|(position, value)| match value {
            CellValue::Text(text) => Some((python_float(text).is_some(), position)),
            _ => None,
        });
        let odd = texts.min_by_key(|(is_number, position)| (*is_number, self.file_row(*position)));
        odd.map(|(_, position)| position)
    }

    pub(crate) fn check_text(&self) -> Result<(), Refusal> {
        let is_other = |value| !matches!(value, CellValue::Text(_));
        match self.values().position(is_other) {
            Some(odd) if self.is_missing(odd) => {
                Err(self.refuse(RefusalKind::Missing, odd, "text"))
            }
            Some(odd) => Err(self.refuse(RefusalKind::Type, odd, "text")),
            None => Ok(()),
        }
    }

    /// Returns all cells, in the current order of the rows.
    pub fn values(&self) -> impl Iterator<Item = CellValue<'a>> + use<'a> {
        let column = *self;
        (0..column.len()).map(move |position| {
            column.fetch(position);
            column.value(position)
        })
    }

    /// Loads the next cells, beginning at `position`, into the processor's cache. Without this, reading sorted rows would be
    /// slow, because their cells are scattered in memory.
    ///
    /// Callers must call this function for each position in ascending order.
    pub(crate) fn fetch(&self, position: usize) {
        if position.is_multiple_of(PREFETCH_ROWS)
            && let (ColumnData::Object(values), Positions::Listed(rows)) =
                (self.data, self.positions)
        {
            let next = rows.get(position..).unwrap_or_default();
            values.fetch(next.get(..PREFETCH_ROWS).unwrap_or(next));
        }
    }

    /// Applies `check` to each cell. Returns the error for the cell that comes first in the file, even if rules have sorted
    /// the rows.
    pub(crate) fn map_cells<T>(
        &self,
        mut check: impl FnMut(usize, CellValue<'a>) -> Result<T, Refusal>,
    ) -> Result<Vec<T>, Refusal> {
        let mut all = Vec::with_capacity(self.len());
        let mut refused: Option<Refusal> = None;
        for (position, value) in self.values().enumerate() {
            // After an error, only earlier rows of the file need to be checked.
            let first = refused.as_ref().and_then(|one| one.row);
            if first.is_some_and(|row| self.file_row(position) > row) {
                continue;
            }
            match check(position, value) {
                Ok(one) => all.push(one),
                Err(refusal) => refused = Some(refusal),
            }
        }
        refused.map_or(Ok(all), Err)
    }

    /// Formats the cell at a position for a message.
    pub fn for_message(&self, position: usize) -> String {
        match self.value(position) {
            CellValue::Missing => "nothing".to_owned(),
            value => format!("`{}`", shortened(&text(value), 60)),
        }
    }

    pub(crate) fn file_values(&self) -> impl Iterator<Item = CellValue<'a>> + use<'a> {
        self.data.values()
    }

    /// Returns an error about a cell. For the answers, the message does not blame the author of the submission.
    pub fn refuse(&self, kind: RefusalKind, position: usize, expected: &str) -> Refusal {
        let found = self.for_message(position);
        let (kind, message) = match self.role {
            Role::Submission => (kind, format!("found {found}, expected {expected}")),
            Role::Answers => (
                RefusalKind::Answers,
                format!("the answers contain {found}, expected {expected}"),
            ),
        };
        Refusal::new(kind, message)
            .in_column(self.name)
            .in_row(self.file_row(position))
    }
}

/// Formats a cell like Python's `str`.
pub fn text(value: CellValue<'_>) -> Cow<'_, str> {
    match value {
        CellValue::Missing => Cow::Borrowed("nan"),
        CellValue::Bool(true) => Cow::Borrowed("True"),
        CellValue::Bool(false) => Cow::Borrowed("False"),
        CellValue::Int(value) => Cow::Owned(value.to_string()),
        CellValue::UInt(value) => Cow::Owned(value.to_string()),
        CellValue::Float(value) => Cow::Owned(python_repr(value)),
        CellValue::Text(text) => Cow::Borrowed(text),
    }
}

/// The graded rows of a table in their current order. Each row is given by its index in the file, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Positions {
    /// The first rows of the file, in the order of the file. This form needs no list.
    First(u32),
    Listed(Vec<u32>),
}

impl Positions {
    /// Returns all rows. A table with 2^32 rows or more is an error.
    pub fn all(rows: usize) -> Result<Self, Refusal> {
        let rows = u32::try_from(rows).map_err(|_| {
            Refusal::new(
                RefusalKind::Unreadable,
                "the table has more than 4,294,967,295 rows",
            )
        })?;
        Ok(Positions::First(rows))
    }

    pub fn len(&self) -> usize {
        match self {
            Positions::First(rows) => *rows as usize,
            Positions::Listed(rows) => rows.len(),
        }
    }

    pub fn get(&self, position: usize) -> Option<u32> {
        match self {
            Positions::First(rows) => u32::try_from(position).ok().filter(|row| row < rows),
            Positions::Listed(rows) => rows.get(position).copied(),
        }
    }

    /// Reorders or drops rows. `positions` are indices into the current order.
    pub fn select(&mut self, mut positions: Vec<u32>) {
        // Reuse the list, because it may have many millions of elements.
        positions.retain_mut(|position| match self.get(*position as usize) {
            Some(row) => {
                *position = row;
                true
            }
            None => false,
        });
        *self = Positions::Listed(positions);
    }

    pub fn truncate(&mut self, count: usize) {
        match self {
            Positions::First(rows) => {
                *rows = (*rows).min(u32::try_from(count).unwrap_or(u32::MAX));
            }
            Positions::Listed(rows) => rows.truncate(count),
        }
    }

    /// Returns how many rows to read from the start of a file with `rows` rows to obtain all graded rows.
    pub fn highest(&self, rows: usize) -> usize {
        match self {
            Positions::First(first) => *first as usize,
            Positions::Listed(_) => rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_can_be_dropped_and_moved() {
        let mut positions = Positions::all(5).unwrap();
        positions.truncate(4);
        assert_eq!((positions.len(), positions.highest(5)), (4, 4));
        assert_eq!((positions.get(3), positions.get(4)), (Some(3), None));
        positions.select(vec![3, 1, 4, 0]);
        assert_eq!(positions, Positions::Listed(vec![3, 1, 0]));
        positions.select(vec![2, 0, 2]);
        assert_eq!(positions, Positions::Listed(vec![0, 3, 0]));
        positions.truncate(2);
        assert_eq!((positions.len(), positions.highest(5)), (2, 5));
        assert!(Positions::all(1 << 32).is_err());
    }
}
