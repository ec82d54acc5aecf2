//! The operators of this crate, in addition to DataFusion's.
//!
//! * `operator`: the shared implementation of all operators.
//! * `scan`: the leaf that reads a [`Relation`](crate::Relation).
//! * `rows`: rows in memory, UNION ALL, LIMIT and OFFSET, and row numbers.
//! * `unnested`: returns a row for each element of a list.
//! * `prepared`: reads a single row, whose values become constants.
//! * `same_rows`: skips the join of EXCEPT if both sides have the same rows in the same order.
//! * `short_circuit`: AND and OR whose right side can fail.
//! * `repeated`: drops repeated rows from the right side of a semi or anti join.
//! * `windows`: evaluates window functions on a few partitions at a time.
//! * `guard`: between all operators, checks for cancellation and accounts for memory.

mod guard;
mod operator;
mod prepared;
mod repeated;
mod rows;
mod same_rows;
mod scan;
mod short_circuit;
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
pub(crate) use short_circuit::ShortCircuit;
pub(crate) use unnested::Unnested;
pub(crate) use windows::WindowsInParts;
