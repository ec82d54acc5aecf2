//! The type of a column, and the values of its cells.

pub(in crate::pandas) mod infer;
pub(in crate::pandas) mod join;
pub(in crate::pandas) mod schema;
pub(in crate::pandas) mod value;
