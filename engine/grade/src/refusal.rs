//! Why a submission has no score, in words that tell its author what to fix.

use std::fmt;

/// The kind of a [`Refusal`], for programs; the message is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The file is missing, empty, too large, or no CSV.
    Unreadable,
    MissingColumn,
    /// A column that must not be there, or columns in the wrong order.
    SurplusColumn,
    RowCount,
    /// Identifiers that are missing, unknown, repeated or in the wrong rows.
    Ids,
    /// A value of the wrong type: text among numbers, say.
    Type,
    /// A cell without a value, or an infinite one, where a number is needed.
    Missing,
    /// A number outside of the allowed range.
    Range,
    /// The values are fine one by one, but the metric is not defined for them.
    Undefined,
    /// The answers are at fault, so no submission can be graded.
    Answers,
}

impl RefusalKind {
    /// The kind's name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            RefusalKind::Unreadable => "unreadable",
            RefusalKind::MissingColumn => "missing_column",
            RefusalKind::SurplusColumn => "surplus_column",
            RefusalKind::RowCount => "row_count",
            RefusalKind::Ids => "ids",
            RefusalKind::Type => "type",
            RefusalKind::Missing => "missing",
            RefusalKind::Range => "range",
            RefusalKind::Undefined => "undefined",
            RefusalKind::Answers => "answers",
        }
    }
}

/// A submission that gets no score: what is wrong, where, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub kind: RefusalKind,
    /// The column at fault, if it is one.
    pub column: Option<String>,
    /// The row at fault: its number in the file, the first one below the header being 1.
    pub row: Option<u64>,
    /// What was found and what was expected. Does not repeat column and row.
    pub message: String,
}

impl Refusal {
    /// A refusal of the file as a whole.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Refusal {
            kind,
            column: None,
            row: None,
            message: shortened(message.into()),
        }
    }

    /// The same refusal, with the column that is at fault.
    #[must_use]
    pub fn in_column(mut self, column: &str) -> Self {
        self.column = Some(shortened(column.to_owned()));
        self
    }

    /// The same refusal, with the row of the file (from 1, without the header) that is at fault.
    #[must_use]
    pub fn in_row(mut self, row: u64) -> Self {
        self.row = Some(row);
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.column, self.row) {
            (Some(column), Some(row)) => {
                write!(f, "column `{column}`, row {row}: {}", self.message)
            }
            (Some(column), None) => write!(f, "column `{column}`: {}", self.message),
            (None, Some(row)) => write!(f, "row {row}: {}", self.message),
            (None, None) => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Refusal {}

/// A text that repeats a column's name may be as long as that.
fn shortened(mut text: String) -> String {
    const LONGEST: usize = 4096;
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push_str(" ...");
    }
    text
}

/// A number of things in words: `1 row`, `2 rows`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}
