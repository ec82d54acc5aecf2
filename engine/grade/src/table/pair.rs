//! The answers and the submission after the changes of the rules that have already run.
//!
//! Rules sort and drop rows by changing a list of row numbers. Therefore tables are not copied, and messages can name the
//! rows of the file.
//!
//! The cells of a submission are read column by column when they are needed. Therefore a submission with wrong columns is
//! never completely in memory.

use std::borrow::Cow;
use std::sync::OnceLock;

use prep_formats::pandas::{ColumnData, Frame};

use super::column::{GradedColumn, Positions, Role};
use super::typed::{LazySubmission, unreadable};
use crate::metrics::QueryEngine;
use crate::refusal::{Refusal, RefusalKind, count};

/// Unread columns are read together if they have at most this number of cells. A column with more cells is read alone.
const MAX_CELLS_AT_ONCE: usize = 4 << 20;

/// Separators of fields that a submission may have instead of commas, with their names.
const SEPARATORS: [(char, &str); 4] = [(';', "`;`"), ('\t', "tabs"), ('|', "`|`"), (' ', "spaces")];

/// A table, and the list of its graded rows.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    columns: Vec<SideColumn<'a>>,
    /// The file with the cells that were not read yet.
    unread: Option<&'a LazySubmission<'a>>,
    positions: Positions,
    role: Role,
    /// Whether messages may quote column names and cells. See [`Pair::recognise`].
    is_recognised: bool,
}

#[derive(Debug, Clone)]
struct SideColumn<'a> {
    name: Cow<'a, str>,
    data: Data<'a>,
}

#[derive(Debug, Clone)]
enum Data<'a> {
    InMemory(Cow<'a, ColumnData>),
    /// A column that is read when it is needed, with its index in the file.
    Lazy(usize, OnceLock<ColumnData>),
}

impl<'a> Side<'a> {
    fn new(frame: &'a Frame, role: Role) -> Result<Self, Refusal> {
        let columns = frame.columns.iter().map(|column| SideColumn {
            name: Cow::Borrowed(&column.name),
            data: Data::InMemory(Cow::Borrowed(&column.data)),
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
            data: Data::Lazy(place, OnceLock::new()),
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

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.positions.len() == 0
    }

    /// Returns the names of all columns, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| &*column.name)
    }

    /// Returns whether there is a column with this name.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|other| other == name)
    }

    /// Returns the index in the file, from 0, of each graded row.
    pub fn file_positions(&self) -> impl Iterator<Item = u32> {
        let positions = &self.positions;
        (0..positions.len()).filter_map(|position| positions.get(position))
    }

    pub(crate) fn select(&mut self, positions: Vec<u32>) {
        self.positions.select(positions);
    }

    pub(crate) fn truncate(&mut self, rows: usize) {
        self.positions.truncate(rows);
    }

    pub(crate) fn replace(&mut self, name: &str, data: ColumnData) {
        if let Some(column) = self.columns.iter_mut().find(|column| column.name == name) {
            column.data = Data::InMemory(Cow::Owned(data));
        }
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Some(column) = self.columns.iter_mut().find(|column| column.name == from) {
            column.name = Cow::Owned(to.to_owned());
        }
    }

    /// Frees the memory of columns that can be read again, except those with these names.
    pub(crate) fn forget_all_but(&mut self, names: &[&str]) {
        for column in &mut self.columns {
            if let Data::Lazy(_, cells) = &mut column.data
                && !names.contains(&&*column.name)
            {
                cells.take();
            }
        }
    }

    /// Checks that a column exists. The error suggests a similar name.
    pub fn require(&self, name: &str) -> Result<(), Refusal> {
        match self.has(name) {
            true => Ok(()),
            false => Err(self.no_column(name)),
        }
    }

    /// Returns a column. Fails if it does not exist or its cells cannot be read.
    pub fn column(&self, name: &str) -> Result<GradedColumn<'_>, Refusal> {
        let Some(column) = self.columns.iter().find(|column| column.name == name) else {
            return Err(self.no_column(name));
        };
        let data = match &column.data {
            Data::InMemory(data) => data,
            Data::Lazy(place, cells) => match cells.get() {
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

    pub(crate) fn columns(&self, names: &[&str]) -> Result<Vec<GradedColumn<'_>>, Refusal> {
        names.iter().map(|name| self.column(name)).collect()
    }

    /// Reads a column, and as many unread columns after it as fit into [`MAX_CELLS_AT_ONCE`].
    fn read(&self, first: usize) -> Result<(), Refusal> {
        let table = self.unread.ok_or_else(unreadable)?;
        let rows = self.positions.highest(table.rows());
        let mut places: Vec<(usize, &OnceLock<ColumnData>)> = Vec::new();
        let unread = self.columns.iter().filter_map(|column| match &column.data {
            Data::Lazy(place, cells) if cells.get().is_none() => Some((*place, cells)),
            _ => None,
        });
        let most = (MAX_CELLS_AT_ONCE / rows.max(1)).max(1);
        places.extend(unread.filter(|(place, _)| *place >= first).take(most));
        let wanted: Vec<usize> = places.iter().map(|(place, _)| *place).collect();
        for ((_, cells), data) in places.iter().zip(table.read(&wanted, rows)?) {
            // `set` fails only if the cells are set, which cannot happen: no other thread reads this table.
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
        let separated =
            |line: &str, by: char| line.split(by).any(|part| part.trim_matches('"') == name);
        let separator = match names.as_slice() {
            [line] => SEPARATORS.iter().find(|(by, _)| separated(line, *by)),
            _ => None,
        };
        if let Some((_, separator)) = separator {
            let message = format!(
                "the fields of the submission are separated by {separator}, and must be separated by commas"
            );
            return Refusal::new(kind, message);
        }
        let message = match (prep_spec::nearest(name, names.iter().copied()), names.len()) {
            (Some(other), _) => {
                format!(
                    "the submission has no such column, but a column `{other}`; rename it to `{name}`"
                )
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

/// Describes a file that is probably not a submission. Quotes nothing from the file.
fn foreign(columns: usize) -> String {
    let columns = count(columns, "column");
    format!("its first line has {columns}, but none with a name that this competition uses")
}

/// The answers and the submission.
#[derive(Debug, Clone)]
pub struct Pair<'a> {
    /// The answers.
    pub answers: Side<'a>,
    /// The submission.
    pub submission: Side<'a>,
    pub(crate) engine: Option<&'a dyn QueryEngine>,
}

impl<'a> Pair<'a> {
    /// Creates a pair of tables that are in memory. A table with 2^32 rows or more is an error.
    pub fn new(answers: &'a Frame, submission: &'a Frame) -> Result<Self, Refusal> {
        Ok(Pair {
            answers: Side::new(answers, Role::Answers)?,
            submission: Side::new(submission, Role::Submission)?,
            engine: None,
        })
    }

    /// Creates a pair with a submission whose cells are read when they are needed.
    pub(crate) fn unread(
        answers: &'a Frame,
        submission: &'a LazySubmission<'a>,
    ) -> Result<Self, Refusal> {
        Ok(Pair {
            answers: Side::new(answers, Role::Answers)?,
            submission: Side::unread(submission)?,
            engine: None,
        })
    }

    /// Decides whether messages may quote the submission. They may if the submission has a column of the answers, or a
    /// column in `names`.
    ///
    /// A file without such a column is probably not a submission but another file, which the reader of a message may not be
    /// allowed to read.
    pub(crate) fn recognise<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        let submission = &self.submission;
        let is_recognised = self.answers.names().any(|name| submission.has(name))
            || names.into_iter().any(|name| submission.has(name));
        self.submission.is_recognised = is_recognised;
    }

    /// Replaces a message that quotes the submission, unless messages may quote it. See [`recognise`](Self::recognise).
    pub(crate) fn without_quotes(&self, refusal: Refusal) -> Refusal {
        match refusal.kind {
            _ if self.submission.is_recognised => refusal,
            // These messages contain only names of expected columns, counts and similar names.
            RefusalKind::Unreadable
            | RefusalKind::MissingColumn
            | RefusalKind::RowCount
            | RefusalKind::Answers
            | RefusalKind::Metric => refusal,
            kind => Refusal::new(kind, foreign(self.submission.columns.len())),
        }
    }

    /// Puts the rows of both tables into the order of the submission's file, so that paired rows stay paired. Returns false
    /// if the rows already have this order, or if the tables have different numbers of rows.
    pub(crate) fn sort_by_file(&mut self) -> bool {
        let rows: Vec<u32> = self.submission.file_positions().collect();
        if rows.is_sorted() || self.answers.len() != rows.len() {
            return false;
        }
        let mut order: Vec<u32> = (0..).take(rows.len()).collect();
        order.sort_by_key(|position| rows.get(*position as usize).copied());
        self.answers.select(order.clone());
        self.submission.select(order);
        true
    }

    /// Like [`both`](Self::both), but for metrics that compare the tables cell by cell. Fails if the tables have different
    /// numbers of rows, or no rows.
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

    /// Returns the columns with this name in the answers and in the submission. If both tables lack the column, the error is
    /// about the answers.
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
