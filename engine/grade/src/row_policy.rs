//! The effect of rules and metrics on the number of rows, which is known before the cells are read.

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
