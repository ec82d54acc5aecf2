//! The two tables that are graded, answers and submission, as the rules so far have changed them.
//!
//! Rules sort and drop rows by changing a list of row numbers. So the tables are not copied, and every message can name
//! the row of the file. The cells of a submission are read column by column when a rule needs them. So a submission
//! with a wrong shape or wrong identifiers is never completely in memory.

use std::borrow::Cow;
use std::sync::OnceLock;

pub use prep_formats::pandas::CellValue;
use prep_formats::pandas::{ColumnData, Frame, PREFETCH_ROWS};

use super::typed::{LazySubmission, unreadable};
use crate::python::python_repr;
use crate::refusal::{Refusal, RefusalKind, count};

/// Maximum number of cells that are read at once.
const MAX_CELLS_AT_ONCE: usize = 4 << 20;

/// One of the two tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The answers.
    Answers,
    /// The submission.
    Submission,
}

/// A table, and the list of its rows that are graded, in order.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    columns: Vec<SideColumn<'a>>,
    /// The file from which cells that were not read yet can be read.
    unread: Option<&'a LazySubmission<'a>>,
    positions: Positions,
    role: Role,
    /// Whether messages may quote names of columns and cells. See [`Pair::recognise`].
    is_recognised: bool,
}

#[derive(Debug, Clone)]
struct SideColumn<'a> {
    name: Cow<'a, str>,
    data: Data<'a>,
}

#[derive(Debug, Clone)]
enum Data<'a> {
    Here(Cow<'a, ColumnData>),
    /// A column that is read from the file when it is needed, with its index in the file.
    LazySubmission(usize, OnceLock<ColumnData>),
}

impl<'a> Side<'a> {
    fn new(frame: &'a Frame, role: Role) -> Result<Self, Refusal> {
        let columns = frame.columns.iter().map(|column| SideColumn {
            name: Cow::Borrowed(&column.name),
            data: Data::Here(Cow::Borrowed(&column.data)),
        });
        Ok(Side {
            columns: columns.collect(),
            unread: None,
            positions: Positions::all(frame.rows)?,
            role,
            is_recognised: true,
        })
    }

    fn unread(table: &'a LazySubmission<'a>) -> Result<Self, Refusal> {
        let columns = table.names().enumerate().map(|(place, name)| SideColumn {
            name: Cow::Borrowed(name),
            data: Data::LazySubmission(place, OnceLock::new()),
        });
        Ok(Side {
            columns: columns.collect(),
            unread: Some(table),
            positions: Positions::all(table.rows())?,
            role: Role::Submission,
            is_recognised: true,
        })
    }

    /// Returns the number of graded rows.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.positions.len() == 0
    }

    /// Returns the names of all columns, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| &*column.name)
    }

    /// Whether there is a column with this name.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|other| other == name)
    }

    /// Returns the positions of the graded rows in the file.
    pub fn file_positions(&self) -> impl Iterator<Item = u32> {
        let positions = &self.positions;
        (0..positions.len()).filter_map(|position| positions.get(position))
    }

    /// Reorders or drops rows; `positions` are indices in the current order.
    pub(crate) fn select(&mut self, positions: Vec<u32>) {
        self.positions.select(positions);
    }

    /// Keeps the first `rows` rows.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.positions.truncate(rows);
    }

    /// Replaces the content of a column.
    pub(crate) fn replace(&mut self, name: &str, data: ColumnData) {
        if let Some(column) = self.columns.iter_mut().find(|column| column.name == name) {
            column.data = Data::Here(Cow::Owned(data));
        }
    }

    /// Renames a column.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Some(column) = self.columns.iter_mut().find(|column| column.name == from) {
            column.name = Cow::Owned(to.to_owned());
        }
    }

    /// Frees the memory of columns that can be read again, except those with these names.
    pub(crate) fn forget_all_but(&mut self, names: &[&str]) {
        for column in &mut self.columns {
            if let Data::LazySubmission(_, cells) = &mut column.data
                && !names.contains(&&*column.name)
            {
                cells.take();
            }
        }
    }

    /// Checks that there is a column with this name. The error suggests a similar name.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn require(&self, name: &str) -> Result<(), Refusal> {
        match self.has(name) {
            true => Ok(()),
            false => Err(self.no_column(name)),
        }
    }

    /// Returns a column by name.
    ///
    /// # Errors
    /// Same as [`require`](Self::require). Also returned if the cells of the column cannot be read.
    pub fn column(&self, name: &str) -> Result<GradedColumn<'_>, Refusal> {
        let Some(column) = self.columns.iter().find(|column| column.name == name) else {
            return Err(self.no_column(name));
        };
        let data = match &column.data {
            Data::Here(data) => data,
            Data::LazySubmission(place, cells) => match cells.get() {
                Some(data) => data,
                None => {
                    self.read(*place)?;
                    cells.get().ok_or_else(unreadable)?
                }
            },
        };
        Ok(GradedColumn {
            name: &column.name,
            data,
            positions: &self.positions,
            role: self.role,
        })
    }

    /// Returns the columns with these names.
    ///
    /// # Errors
    /// Same as [`column`](Self::column).
    pub(crate) fn columns(&self, names: &[&str]) -> Result<Vec<GradedColumn<'_>>, Refusal> {
        names.iter().map(|name| self.column(name)).collect()
    }

    /// Reads the column at an index of the file, and as many unread columns after it as fit into one read.
    fn read(&self, first: usize) -> Result<(), Refusal> {
        let table = self.unread.ok_or_else(unreadable)?;
        let rows = self.positions.highest(table.rows());
        let mut places: Vec<(usize, &OnceLock<ColumnData>)> = Vec::new();
        let unread = self.columns.iter().filter_map(|column| match &column.data {
            Data::LazySubmission(place, cells) if cells.get().is_none() => Some((*place, cells)),
            _ => None,
        });
        let most = (MAX_CELLS_AT_ONCE / rows.max(1)).max(1);
        places.extend(unread.filter(|(place, _)| *place >= first).take(most));
        let wanted: Vec<usize> = places.iter().map(|(place, _)| *place).collect();
        for ((_, cells), data) in places.iter().zip(table.read(&wanted, rows)?) {
            // `set` cannot fail, because only this thread reads this table. Another thread would have read the same
            // data.
            let _ = cells.set(data);
        }
        Ok(())
    }

    fn no_column(&self, name: &str) -> Refusal {
        let kind = match self.role {
            Role::Answers => {
                return Refusal::new(RefusalKind::Answers, "the answers have no such column")
                    .in_column(name);
            }
            Role::Submission => RefusalKind::MissingColumn,
        };
        let names: Vec<&str> = self.names().collect();
        let message = match (prep_spec::nearest(name, names.iter().copied()), names.len()) {
            (Some(other), _) => {
                format!(
                    "the submission has no such column, but a column `{other}`; rename it to `{name}`"
                )
            }
            (None, 1) if names.iter().any(|only| only.contains([';', '\t'])) => {
                "the submission has no such column: its fields must be separated by commas"
                    .to_owned()
            }
            (None, 0) => "the submission has no such column: the file is empty".to_owned(),
            (None, columns) if !self.is_recognised => {
                format!("the submission has no such column; {}", foreign(columns))
            }
            (None, 1..=12) => format!(
                "the submission has no such column; it has: {}",
                names.join(", ")
            ),
            (None, count) => format!("the submission has no such column; it has {count} others"),
        };
        Refusal::new(kind, message).in_column(name)
    }
}

/// Describes a file without a column of a submission.
fn foreign(columns: usize) -> String {
    let columns = count(columns, "column");
    format!("its first line has {columns}, but none with a name that this competition uses")
}

/// A column of a table, in the current order of the table's rows.
#[derive(Debug, Clone, Copy)]
pub struct GradedColumn<'a> {
    /// The column's name.
    pub name: &'a str,
    data: &'a ColumnData,
    positions: &'a Positions,
    role: Role,
}

impl<'a> GradedColumn<'a> {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are no rows.
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

    /// Whether the cell at a position is missing.
    pub(crate) fn is_missing(&self, position: usize) -> bool {
        match (self.data, self.positions.get(position)) {
            // Does not access the memory of the text.
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

    /// Prefetches the cells after `position`, which may be anywhere in memory. Call this for each position when you
    /// process all positions in order.
    pub(crate) fn fetch(&self, position: usize) {
        if position.is_multiple_of(PREFETCH_ROWS)
            && let (ColumnData::Object(values), Positions::Listed(rows)) =
                (self.data, self.positions)
        {
            let next = rows.get(position..).unwrap_or_default();
            values.fetch(next.get(..PREFETCH_ROWS).unwrap_or(next));
        }
    }

    /// Applies `check` to each cell. If it rejects several cells, returns the error of the cell that is first in the
    /// file, independent of the current order of the rows.
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

    /// Returns an error about a cell of this column. An error in the answers is never attributed to the author of the
    /// submission.
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

/// Row numbers in the file. If no rows were dropped or moved, no list is stored.
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

    /// Returns how many rows have to be read from the start of the file, which has `rows` rows.
    pub fn highest(&self, rows: usize) -> usize {
        match self {
            Positions::First(first) => *first as usize,
            Positions::Listed(_) => rows,
        }
    }
}

/// The answers and the submission.
#[derive(Debug, Clone)]
pub struct Pair<'a> {
    /// The answers.
    pub answers: Side<'a>,
    /// The submission.
    pub submission: Side<'a>,
}

impl<'a> Pair<'a> {
    /// Creates a pair of completely read tables.
    ///
    /// # Errors
    /// If a table has 2^32 rows or more.
    pub fn new(answers: &'a Frame, submission: &'a Frame) -> Result<Self, Refusal> {
        Ok(Pair {
            answers: Side::new(answers, Role::Answers)?,
            submission: Side::new(submission, Role::Submission)?,
        })
    }

    /// Creates a pair with a submission whose cells are read when needed.
    ///
    /// # Errors
    /// Same as [`new`](Self::new).
    pub(crate) fn unread(
        answers: &'a Frame,
        submission: &'a LazySubmission<'a>,
    ) -> Result<Self, Refusal> {
        Ok(Pair {
            answers: Side::new(answers, Role::Answers)?,
            submission: Side::unread(submission)?,
        })
    }

    /// Decides whether messages may quote the submission. If its first line has none of the names of the answers'
    /// columns and none of `names`, the file is probably not a submission. Then no message quotes it, because it may be
    /// a file that the receiver of the message must not read.
    pub(crate) fn recognise<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        let submission = &self.submission;
        let is_recognised = self.answers.names().any(|name| submission.has(name))
            || names.into_iter().any(|name| submission.has(name));
        self.submission.is_recognised = is_recognised;
    }

    /// Removes quotes of the submission from a message, if the submission was not recognised.
    pub(crate) fn without_quotes(&self, refusal: Refusal) -> Refusal {
        match refusal.kind {
            _ if self.submission.is_recognised => refusal,
            // These messages contain only names of expected columns, counts and similar names.
            RefusalKind::Unreadable
            | RefusalKind::MissingColumn
            | RefusalKind::RowCount
            | RefusalKind::Answers => refusal,
            kind => Refusal::new(kind, foreign(self.submission.columns.len())),
        }
    }

    /// Returns a column of the answers and of the submission, for metrics that compare cell by cell.
    ///
    /// # Errors
    /// If the tables have different numbers of rows, no rows, or no such column.
    pub fn cells(&self, column: &str) -> Result<(GradedColumn<'_>, GradedColumn<'_>), Refusal> {
        self.check_same_rows()?;
        if self.answers.is_empty() {
            return Err(Refusal::new(
                RefusalKind::RowCount,
                "there are no rows to grade",
            ));
        }
        self.both(column)
    }

    /// Returns a column of the answers and of the submission.
    ///
    /// # Errors
    /// If a table has no such column. If both have none, the error is about the answers.
    pub fn both(&self, column: &str) -> Result<(GradedColumn<'_>, GradedColumn<'_>), Refusal> {
        Ok((
            self.answers.column(column)?,
            self.submission.column(column)?,
        ))
    }

    /// Returns an error if the tables have different numbers of rows.
    pub fn check_same_rows(&self) -> Result<(), Refusal> {
        let (expected, found) = (self.answers.len(), self.submission.len());
        if expected == found {
            return Ok(());
        }
        Err(Refusal::new(
            RefusalKind::RowCount,
            format!(
                "the submission has {}, expected {expected}",
                count(found, "row")
            ),
        ))
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
