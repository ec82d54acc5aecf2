//! Infers the types of columns and converts cells to values.

pub(in crate::pandas) mod infer;
pub(in crate::pandas) mod join;
pub(in crate::pandas) mod schema;
pub(in crate::pandas) mod value;
