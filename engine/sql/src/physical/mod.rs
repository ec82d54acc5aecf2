//! Operators of this crate, next to DataFusion's.
//!
//! * `operator`: the parts that all operators of this crate share.
//! * `scan`: the leaf that reads a [`Relation`](crate::Relation).
//! * `rows`: rows in memory, the rows of several inputs (UNION ALL), LIMIT and OFFSET, and the positions of rows.
//! * `unnested`: returns a row for each element of lists.
//! * `prepared`: reads a single row, whose values become constants of other operators.
//! * `same_rows`: skips the join of EXCEPT if both sides have the same rows in the same order.
//! * `repeated`: drops repeated rows from the right side of a semi or anti join, in which rows are only looked up.
//! * `windows`: evaluates window functions on a few partitions at a time, not on all rows.
//! * `guard`: between all operators, checks for cancellation and accounts for memory that an operator does not reserve.

mod guard;
mod operator;
mod prepared;
mod repeated;
mod rows;
mod same_rows;
mod scan;
mod unnested;
mod windows;

pub(crate) use guard::Guard;
pub(crate) use operator::{Node, Plan};
pub(crate) use prepared::{ConstantColumn, ConstantSlot, Prepared};
pub(crate) use repeated::SkipRepeated;
pub(crate) use rows::Concat;
pub(crate) use rows::FirstRows;
pub(crate) use rows::Numbered;
pub(crate) use rows::Rows;
pub(crate) use same_rows::SameRows;
pub(crate) use scan::{Scan, ScanColumn, row_bytes};
pub(crate) use unnested::Unnested;
pub(crate) use windows::WindowsInParts;
