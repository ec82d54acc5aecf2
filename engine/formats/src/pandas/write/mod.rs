//! Formats rows of computed values as `to_csv` does.

pub(in crate::pandas) mod quote;
pub(in crate::pandas) mod writer;
