//! A column of answers or of a submission, and its cells.

use std::borrow::Cow;

pub use prep_formats::pandas::CellValue;
use prep_formats::pandas::{ColumnData, PREFETCH_ROWS};

use crate::python::python_repr;
use crate::refusal::{Refusal, RefusalKind};

/// One of the two tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The answers.
    Answers,
    /// The submission.
    Submission,
}

/// A column of a table, in the current order of the table's rows.
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

    /// Returns the column's data of the entire file, in the file's order.
    pub fn data(&self) -> &'a ColumnData {
        self.data
    }

    /// Returns the position of a row in the file.
    pub fn file_position(&self, position: usize) -> Option<u32> {
        self.positions.get(position)
    }

    /// Returns the number of the row in the file, counted from 1.
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

    /// Returns whether the cell at a position is missing.
    pub(crate) fn is_missing(&self, position: usize) -> bool {
        match (self.data, self.positions.get(position)) {
            // This check does not access the memory of the text.
            (ColumnData::Object(cells), Some(row)) => cells.is_missing(row as usize),
            _ => self.value(position) == CellValue::Missing,
        }
    }

    /// Returns the bytes of a text; `None` for other cells.
    pub(crate) fn text(&self, position: usize) -> Option<&'a [u8]> {
        match self.data {
            ColumnData::Object(cells) => cells.text(self.positions.get(position)? as usize),
            _ => None,
        }
    }

    /// Returns the position of the first cell with a text.
    pub(crate) fn first_text(&self) -> Option<usize> {
        self.values()
            .position(|value| matches!(value, CellValue::Text(_)))
    }

    /// Returns an error unless all cells are text.
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

    /// Returns the cells in order.
    pub fn values(&self) -> impl Iterator<Item = CellValue<'a>> + use<'a> {
        let column = *self;
        (0..column.len()).map(move |position| {
            column.fetch(position);
            column.value(position)
        })
    }

    /// Prefetches the next cells from `position` on into the processor's cache, because rows that were sorted are
    /// scattered in memory. Must be called for each position if all positions are processed in order.
    pub(crate) fn fetch(&self, position: usize) {
        if position.is_multiple_of(PREFETCH_ROWS)
            && let (ColumnData::Object(values), Positions::Listed(rows)) =
                (self.data, self.positions)
        {
            let next = rows.get(position..).unwrap_or_default();
            values.fetch(next.get(..PREFETCH_ROWS).unwrap_or(next));
        }
    }

    /// Applies `check` to each cell. If `check` rejects several cells, returns the error for the cell that comes first
    /// in the file, even if rules have sorted the rows.
    pub(crate) fn map_cells<T>(
        &self,
        mut check: impl FnMut(usize, CellValue<'a>) -> Result<T, Refusal>,
    ) -> Result<Vec<T>, Refusal> {
        let mut all = Vec::with_capacity(self.len());
        let mut refused: Option<Refusal> = None;
        for (position, value) in self.values().enumerate() {
            // After an error, only rows that are earlier in the file need to be checked.
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
            CellValue::Text(text) if text.chars().count() > 60 => {
                format!("`{}...`", text.chars().take(57).collect::<String>())
            }
            value => format!("`{}`", text(value)),
        }
    }

    /// Returns the cells of the entire file, in the file's order.
    pub(crate) fn file_values(&self) -> impl Iterator<Item = CellValue<'a>> + use<'a> {
        self.data.values()
    }

    /// Returns an error about a cell of this column. If the column belongs to the answers, the message does not blame
    /// the author of the submission.
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

/// Formats the cell like Python's `str`.
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

/// The rows of a table that are graded, in order. A row is identified by its number in the file, from 0. As long as
/// rows were only dropped at the end, no list of numbers is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Positions {
    /// This number of rows from the start of the file, in the file's order.
    First(u32),
    Listed(Vec<u32>),
}

impl Positions {
    /// Returns all rows of a table.
    ///
    /// # Errors
    /// If the table has 2^32 rows or more.
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

    /// Reorders or drops rows; `positions` are indices in the current order.
    pub fn select(&mut self, mut positions: Vec<u32>) {
        // Reuses the list, because it may have many millions of elements.
        positions.retain_mut(|position| match self.get(*position as usize) {
            Some(row) => {
                *position = row;
                true
            }
            None => false,
        });
        *self = Positions::Listed(positions);
    }

    /// Keeps the first `count` rows.
    pub fn truncate(&mut self, count: usize) {
        match self {
            Positions::First(rows) => {
                *rows = (*rows).min(u32::try_from(count).unwrap_or(u32::MAX));
            }
            Positions::Listed(rows) => rows.truncate(count),
        }
    }

    /// Returns how many rows must be read from the start of a file with `rows` rows.
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
