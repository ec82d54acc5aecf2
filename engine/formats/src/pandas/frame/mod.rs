//! A whole table in memory, for graders.

pub(in crate::pandas) mod objects;
pub(in crate::pandas) mod packed;
pub(in crate::pandas) mod table;
