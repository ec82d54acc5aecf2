//! The rules that check a submission before it is scored, one file each.
//!
//! Rules run in the order of the pipeline. The first one that fails ends the grading with a [`Refusal`]. Some rules
//! also prepare the tables for the metric: they sort them, drop rows or fill missing cells.

use std::fmt;

use serde_json::Value;

use crate::refusal::Refusal;
use crate::spec::definition::Definition;
use crate::table::pair::Pair;

mod align;
mod align_groups;
mod binarize;
mod columns;
mod drop_missing;
mod drop_unknown;
mod exact_columns;
mod fill_missing;
mod finite;
mod join;
mod keep_last;
mod keep_rows;
mod not_empty;
mod numeric;
mod range;
mod rename;
mod rows_sum_to;
mod same_ids;
pub(crate) mod same_rows;
mod text;

/// A rule with its parameters.
pub trait Rule: fmt::Debug + Send + Sync {
    /// Checks the submission, and prepares both tables for the following rules.
    ///
    /// # Errors
    /// Returns the mistake that the submission's author has to correct.
    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal>;

    /// Whether the rule only uses column names and numbers of rows, and changes neither table.
    fn is_about_shape(&self) -> bool {
        false
    }

    /// Returns how the rule checks or changes the number of rows, regardless of their content.
    fn rows(&self) -> RowPolicy {
        match self.is_about_shape() {
            true => RowPolicy::Kept,
            false => RowPolicy::Any,
        }
    }
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

/// A kind of rule: its description and parser.
#[derive(Debug)]
pub struct RuleKind {
    /// Name, documentation and parameters.
    pub definition: Definition,
    pub(crate) parse: fn(Value) -> Result<Box<dyn Rule>, serde_json::Error>,
}

/// All rules, in the order of the reference.
pub const ALL: &[&RuleKind] = &[
    &rename::KIND,
    &columns::KIND,
    &exact_columns::KIND,
    &not_empty::KIND,
    &same_rows::KIND,
    &same_ids::KIND,
    &numeric::KIND,
    &text::KIND,
    &finite::KIND,
    &range::KIND,
    &rows_sum_to::KIND,
    &fill_missing::KIND,
    &binarize::KIND,
    &drop_unknown::KIND,
    &align::KIND,
    &align_groups::KIND,
    &join::KIND,
    &keep_rows::KIND,
    &keep_last::KIND,
    &drop_missing::KIND,
];

/// Parses the parameters of a rule of type `R`.
fn parse<R: Rule + serde::de::DeserializeOwned + 'static>(
    value: Value,
) -> Result<Box<dyn Rule>, serde_json::Error> {
    Ok(Box::new(serde_json::from_value::<R>(value)?))
}
