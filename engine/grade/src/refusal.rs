//! Defines the reason why a submission has no score, with a message that shows the author what to correct. Also defines
//! what rules and metrics require of the number of rows, which is known before the cells are read.

use std::fmt;

pub(crate) use prep_failure::units::count;

use crate::metrics::QueryFailure;

/// The kind of a [`Refusal`], for programs; the message is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// There is no file with this name, or its name does not end in `.csv`.
    NoSubmission,
    /// The file is empty, too large, or not a CSV.
    Unreadable,
    /// A required column is missing.
    MissingColumn,
    /// An unexpected column, or columns in the wrong order.
    SurplusColumn,
    /// The number of rows is wrong.
    RowCount,
    /// Identifiers that are missing, unknown, repeated or in the wrong rows.
    Ids,
    /// A value of the wrong type, for example text in a column of numbers.
    Type,
    /// A cell without a value where one is required.
    Missing,
    /// A number outside of the allowed range, or infinite.
    Range,
    /// Each value is valid, but the metric is not defined for these values.
    Undefined,
    /// The answers are wrong, so no submission can be graded.
    Answers,
    /// The query of the metric failed. This is a mistake of the competition's author, because rules must reject such a
    /// submission.
    Metric,
}

impl RefusalKind {
    /// Returns the kind's name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            RefusalKind::NoSubmission => "no_submission",
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
            RefusalKind::Metric => "metric",
        }
    }
}

/// The reason why a submission is invalid: the error, its position, and the expected content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of mistake.
    pub kind: RefusalKind,
    /// The column that contains the mistake, if the mistake is in a column.
    pub column: Option<String>,
    /// The row that contains the mistake: its number in the file, where the first row after the header is 1.
    pub row: Option<u64>,
    /// A description of the actual and the expected content, without column and row.
    pub message: String,
    /// The failure of a query of the author's metric.
    pub failure: Option<Box<QueryFailure>>,
}

impl Refusal {
    /// Creates a reason that concerns the entire file.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Refusal {
            kind,
            column: None,
            row: None,
            failure: None,
            message: shortened(message.into()),
        }
    }

    /// Adds the column.
    #[must_use]
    pub fn in_column(mut self, column: &str) -> Self {
        self.column = Some(shortened(column.to_owned()));
        self
    }

    /// Adds the number of the row in the file, where the first row after the header is 1.
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

/// Truncates a message, because a message that quotes a column's name can be as long as the name.
fn shortened(mut text: String) -> String {
    const MAX_MESSAGE_BYTES: usize = 4096;
    if text.len() > MAX_MESSAGE_BYTES {
        text.truncate(text.floor_char_boundary(MAX_MESSAGE_BYTES));
        text.push_str(" ...");
    }
    text
}

/// How a rule or metric checks or changes the number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowPolicy {
    /// The rule may drop rows.
    Any,
    /// The rule either rejects the submission, or changes neither the number nor the order of the rows.
    Kept,
    /// The rule changes neither the number nor the order of the rows, never rejects the submission, and processes each
    /// cell independently of other rows.
    CellByCell,
    /// The rule requires this many rows of the submission for each row of the answers.
    Times(usize),
    /// The rule only uses the first rows of the submission, as many as the answers have.
    First,
}
