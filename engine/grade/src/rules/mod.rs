//! The rules that a submission is checked by, before it is scored: one file per rule.
//!
//! They run in the order of the pipeline; the first that fails ends the grading with a [`Refusal`]. Some also arrange
//! the tables for the metric: sort them, drop rows, fill gaps.

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
    /// Checks the submission, and arranges both tables for the rules that follow.
    ///
    /// # Errors
    /// What the submission's author has to fix.
    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal>;

    /// Whether it looks at names of columns and numbers of rows alone, and leaves both tables as they are.
    fn is_about_shape(&self) -> bool {
        false
    }

    /// What it says of the number of rows, whatever is in them.
    fn rows(&self) -> Rows {
        match self.is_about_shape() {
            true => Rows::Kept,
            false => Rows::Any,
        }
    }
}

/// What a rule says of numbers of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// It may leave some out.
    Any,
    /// It leaves all where they are, or refuses the submission.
    Kept,
    /// It leaves all where they are, refuses none, and does with a cell what has nothing to do with other rows.
    CellByCell,
    /// The submission has so many for each row of the answers, or is refused.
    Times(usize),
    /// It looks at as many of the submission's first rows as the answers have, whatever comes after them.
    First,
}

/// A kind of rule: its description and how its parameters are read.
#[derive(Debug)]
pub struct RuleKind {
    pub definition: Definition,
    pub(crate) parse: fn(Value) -> Result<Box<dyn Rule>, serde_json::Error>,
}

/// All rules, in the order of the reference.
pub static ALL: &[&RuleKind] = &[
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

/// Reads the parameters of a rule of type `R`.
fn parse<R: Rule + serde::de::DeserializeOwned + 'static>(
    value: Value,
) -> Result<Box<dyn Rule>, serde_json::Error> {
    Ok(Box::new(serde_json::from_value::<R>(value)?))
}
