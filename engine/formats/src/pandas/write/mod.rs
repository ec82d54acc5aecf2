//! Rows of computed values as `to_csv` prints them.

pub(in crate::pandas) mod quote;
pub(in crate::pandas) mod writer;
