//! Defines [`Refusal`], the reason why a submission has no score. Also defines [`RowPolicy`]: how many rows a rule or metric
//! requires, and how it changes the number of rows.

use std::fmt;

pub(crate) use prep_failure::units::count;

use prep_spec::shortened;

use crate::metrics::QueryFailure;

/// The kind of a [`Refusal`], for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The submission's file does not exist, or its name does not end in `.csv`.
    NoSubmission,
    /// The file is empty, too large, or not a CSV.
    Unreadable,
    /// A required column is missing.
    MissingColumn,
    /// A column is not expected, or in the wrong place.
    SurplusColumn,
    /// The number of rows is wrong.
    RowCount,
    /// An identifier is missing, unknown, repeated or in the wrong row.
    Ids,
    /// A value has the wrong type, for example text in a column of numbers.
    Type,
    /// A required value is missing.
    Missing,
    /// A number is out of range, or infinite.
    Range,
    /// Each value is valid, but the metric is not defined for these values.
    Undefined,
    /// The answers are wrong, so no submission can be graded.
    Answers,
    /// The query of the metric failed. The rules must reject each submission for which the query would fail, so this is a
    /// mistake of the competition's author.
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

/// The reason why a submission is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of mistake.
    pub kind: RefusalKind,
    /// The column with the mistake.
    pub column: Option<String>,
    /// The row with the mistake, counted from 1 after the header.
    pub row: Option<u64>,
    /// The actual and the expected content, without column and row.
    pub message: String,
    /// The failed query of the metric.
    pub failure: Option<Box<QueryFailure>>,
    /// Whether the metric rejected the submission, not a rule or the reader of the file.
    pub is_of_metric: bool,
}

impl Refusal {
    /// Creates a reason that concerns the entire file.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Refusal {
            kind,
            column: None,
            row: None,
            failure: None,
            is_of_metric: false,
            message: shortened(&message.into(), MAX_MESSAGE),
        }
    }

    /// Adds the column.
    #[must_use]
    pub fn in_column(mut self, column: &str) -> Self {
        self.column = Some(shortened(column, MAX_MESSAGE));
        self
    }

    /// Adds the row, counted from 1 after the header.
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

/// Maximum number of characters of a message, which may quote a very long column name.
const MAX_MESSAGE: usize = 4000;

/// The number of rows that a rule or metric requires, or the effect of a rule on the number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowPolicy {
    /// The rule may drop rows, or the metric may accept any number of rows.
    Any,
    /// The rule rejects the submission, or keeps the number and the order of its rows.
    Kept,
    /// The rule never rejects the submission, keeps the number and the order of its rows, and changes each cell
    /// independently of other rows.
    CellByCell,
    /// The submission must have this number of rows for each row of the answers.
    Times(usize),
    /// Only the first rows of the submission are used, as many as the answers have.
    First,
}
