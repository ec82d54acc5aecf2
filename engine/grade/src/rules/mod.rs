//! The rules that check a submission before it is scored, one file per purpose.
//!
//! Rules run in the order in which the pipeline lists them. The first rule that a submission violates ends its grading. Some
//! rules also sort or drop rows, or fill missing cells.

mod changed_values;
mod kind;
mod names;
mod pairing;
pub(crate) mod required_rows;
mod selected_rows;
mod values;

pub use kind::{Rule, RuleKind};

/// All rules, in the order of the reference.
pub const ALL: &[&RuleKind] = &[
    &names::RENAME,
    &names::COLUMNS,
    &names::EXACT_COLUMNS,
    &required_rows::NOT_EMPTY,
    &required_rows::SAME_ROWS,
    &required_rows::SAME_IDS,
    &values::NUMERIC,
    &values::TEXT,
    &values::FINITE,
    &values::RANGE,
    &values::ROWS_SUM_TO,
    &changed_values::FILL_MISSING,
    &changed_values::AS_TEXT,
    &changed_values::BINARIZE,
    &selected_rows::DROP_UNKNOWN,
    &pairing::ALIGN,
    &pairing::ALIGN_GROUPS,
    &pairing::JOIN,
    &selected_rows::KEEP_ROWS,
    &selected_rows::KEEP_LAST,
    &selected_rows::DROP_MISSING,
];
