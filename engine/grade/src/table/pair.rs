//! The two tables that are graded, answers and submission, and what the rules made of them.
//!
//! Rules sort and drop rows. They do so on a list of row numbers, so that the tables themselves are not copied and
//! every message can name the row of the file that it is about.

use std::borrow::Cow;

use crate::frame::{Cell, ColumnData, Frame};
use crate::refusal::{Refusal, RefusalKind, count};
use crate::suggest::closest;

/// Which of the two tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Answers,
    Submission,
}

/// One cell, whatever its column's type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    Missing,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(&'a str),
}

impl Value<'_> {
    /// The value as a message shows it.
    pub fn shown(self) -> String {
        match self {
            Value::Missing => "nothing".to_owned(),
            Value::Bool(value) => format!("`{}`", if value { "True" } else { "False" }),
            Value::Int(value) => format!("`{value}`"),
            Value::UInt(value) => format!("`{value}`"),
            Value::Float(value) => format!("`{}`", crate::numeric::python_repr(value)),
            Value::Text(text) if text.chars().count() > 60 => {
                format!("`{}...`", text.chars().take(57).collect::<String>())
            }
            Value::Text(text) => format!("`{text}`"),
        }
    }
}

/// A table and the rows of it that take part, in order.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    frame: Cow<'a, Frame>,
    rows: Vec<u32>,
    role: Role,
}

impl<'a> Side<'a> {
    fn new(frame: &'a Frame, role: Role) -> Result<Self, Refusal> {
        let rows = u32::try_from(frame.rows).map_err(|_| {
            Refusal::new(
                RefusalKind::Unreadable,
                "the table has more than 4,294,967,295 rows",
            )
        })?;
        Ok(Side {
            frame: Cow::Borrowed(frame),
            rows: (0..rows).collect(),
            role,
        })
    }

    /// Number of rows that take part.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Names of all columns, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.frame.columns.iter().map(|column| &*column.name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.names().any(|other| other == name)
    }

    /// Positions in the file of the rows that take part.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Puts the rows in another order, or drops some: the list is of positions in the present order.
    pub(crate) fn select(&mut self, positions: &[u32]) {
        self.rows = positions
            .iter()
            .filter_map(|&position| self.rows.get(position as usize).copied())
            .collect();
    }

    /// Keeps the first rows.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.rows.truncate(rows);
    }

    /// Replaces the content of a column.
    pub(crate) fn replace(&mut self, name: &str, data: ColumnData) {
        if let Some(column) = self
            .frame
            .to_mut()
            .columns
            .iter_mut()
            .find(|column| &*column.name == name)
        {
            column.data = data;
        }
    }

    /// Gives a column another name.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        let columns = &mut self.frame.to_mut().columns;
        if let Some(column) = columns.iter_mut().find(|column| &*column.name == from) {
            column.name = to.into();
        }
    }

    /// A column by name.
    ///
    /// # Errors
    /// When there is none of that name; the message suggests one that is spelled alike.
    pub fn column(&self, name: &str) -> Result<Column<'_>, Refusal> {
        match self
            .frame
            .columns
            .iter()
            .find(|column| &*column.name == name)
        {
            Some(column) => Ok(Column {
                name: &column.name,
                data: &column.data,
                rows: &self.rows,
                role: self.role,
            }),
            None => Err(self.no_column(name)),
        }
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
        let message = match (closest(name, &names), names.len()) {
            (Some(other), _) => {
                format!(
                    "the submission has no such column, but `{other}`, which must be spelled `{name}`"
                )
            }
            (None, 1) if names.iter().any(|only| only.contains([';', '\t'])) => {
                "the submission has no such column: its fields must be separated by commas"
                    .to_owned()
            }
            (None, 0) => "the submission has no such column: the file is empty".to_owned(),
            (None, 1..=12) => format!(
                "the submission has no such column; it has: {}",
                names.join(", ")
            ),
            (None, count) => format!("the submission has no such column; it has {count} others"),
        };
        Refusal::new(kind, message).in_column(name)
    }
}

/// A column of a side, seen in the side's present order of rows.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    pub name: &'a str,
    data: &'a ColumnData,
    rows: &'a [u32],
    role: Role,
}

impl<'a> Column<'a> {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn role(&self) -> Role {
        self.role
    }

    /// The whole column of the file, in the file's order.
    pub fn data(&self) -> &'a ColumnData {
        self.data
    }

    pub fn rows(&self) -> &'a [u32] {
        self.rows
    }

    /// Number of the row in the file, from 1.
    pub fn file_row(&self, position: usize) -> u64 {
        self.rows.get(position).map_or(0, |&row| u64::from(row) + 1)
    }

    /// The cell at a position; beyond the end it is missing.
    pub fn value(&self, position: usize) -> Value<'a> {
        self.rows
            .get(position)
            .map_or(Value::Missing, |&row| value_at(self.data, row as usize))
    }

    pub fn values(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let data = self.data;
        self.rows
            .iter()
            .map(move |&row| value_at(data, row as usize))
    }

    /// The cells of the whole file, in its order.
    pub(crate) fn file_values(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let data = self.data;
        let rows = match data {
            ColumnData::Int64(values) => values.len(),
            ColumnData::UInt64(values) => values.len(),
            ColumnData::Float64(values) => values.len(),
            ColumnData::Bool(values) => values.len(),
            ColumnData::Object(values) => values.len(),
        };
        (0..rows).map(move |row| value_at(data, row))
    }

    /// A refusal that points at a cell of this column. A fault of the answers is never the author's.
    pub fn refuse(&self, kind: RefusalKind, position: usize, expected: &str) -> Refusal {
        let found = self.value(position).shown();
        let (kind, message) = match self.role {
            Role::Submission => (kind, format!("found {found}, expected {expected}")),
            Role::Answers => (
                RefusalKind::Answers,
                format!("the answers hold {found}, expected {expected}"),
            ),
        };
        Refusal::new(kind, message)
            .in_column(self.name)
            .in_row(self.file_row(position))
    }
}

fn value_at(data: &ColumnData, row: usize) -> Value<'_> {
    match data {
        ColumnData::Int64(values) => values
            .get(row)
            .map_or(Value::Missing, |&value| Value::Int(value)),
        ColumnData::UInt64(values) => values
            .get(row)
            .map_or(Value::Missing, |&value| Value::UInt(value)),
        ColumnData::Float64(values) => values
            .get(row)
            .map_or(Value::Missing, |&value| float(value)),
        ColumnData::Bool(values) => values
            .get(row)
            .map_or(Value::Missing, |&value| Value::Bool(value)),
        ColumnData::Object(values) => match values.get(row) {
            None | Some(Cell::Missing) => Value::Missing,
            Some(Cell::Bool(value)) => Value::Bool(*value),
            Some(Cell::Int(value)) => Value::Int(*value),
            Some(Cell::UInt(value)) => Value::UInt(*value),
            Some(Cell::Float(value)) => float(*value),
            Some(Cell::Text(text)) => Value::Text(text),
        },
    }
}

fn float(value: f64) -> Value<'static> {
    if value.is_nan() {
        Value::Missing
    } else {
        Value::Float(value)
    }
}

/// Answers and submission.
#[derive(Debug, Clone)]
pub struct Pair<'a> {
    pub answers: Side<'a>,
    pub submission: Side<'a>,
}

impl<'a> Pair<'a> {
    /// Pairs the tables as they were read.
    ///
    /// # Errors
    /// When one has 2^32 rows or more.
    pub fn new(answers: &'a Frame, submission: &'a Frame) -> Result<Self, Refusal> {
        Ok(Pair {
            answers: Side::new(answers, Role::Answers)?,
            submission: Side::new(submission, Role::Submission)?,
        })
    }

    /// A column of both sides, answers first, for metrics that compare cell by cell.
    ///
    /// # Errors
    /// When the sides differ in length, have no row, or lack the column.
    pub fn cells(&self, column: &str) -> Result<(Column<'_>, Column<'_>), Refusal> {
        self.check_same_rows()?;
        if self.answers.is_empty() {
            return Err(Refusal::new(
                RefusalKind::RowCount,
                "there are no rows to grade",
            ));
        }
        Ok((
            self.answers.column(column)?,
            self.submission.column(column)?,
        ))
    }

    /// Refuses sides of different length.
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
