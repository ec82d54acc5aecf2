//! Reads raw files: splits them into fields and rows, infers types, and converts them to canonical text.

pub(in crate::pandas) mod concat;
pub(in crate::pandas) mod content;
pub(in crate::pandas) mod field_ends;
pub(in crate::pandas) mod header;
pub(in crate::pandas) mod normalise;
pub(in crate::pandas) mod rewrite;
pub(in crate::pandas) mod rows;
pub(in crate::pandas) mod scan;
pub(in crate::pandas) mod tokens;
pub(in crate::pandas) mod type_mismatch;
