//! The rules that check a submission before it is scored, one file each.
//!
//! Rules run in the order of the pipeline. The first one that fails ends the grading with a
//! [`Refusal`](crate::refusal::Refusal). Some rules also prepare the tables for the metric: they sort them, drop rows or
//! fill missing cells.

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
mod kind;
mod not_empty;
mod numeric;
mod range;
mod rename;
mod rows_sum_to;
mod same_ids;
pub(crate) mod same_rows;
mod text;

pub use kind::{Rule, RuleKind};

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
