//! Entire tables in memory, for grading.

pub(in crate::pandas) mod objects;
pub(in crate::pandas) mod packed;
pub(in crate::pandas) mod table;
