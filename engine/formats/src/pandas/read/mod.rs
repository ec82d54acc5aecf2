//! Raw files: into fields, rows and types, and the same text as `to_csv` prints it.

pub(in crate::pandas) mod concat;
pub(in crate::pandas) mod content;
pub(in crate::pandas) mod header;
pub(in crate::pandas) mod misfit;
pub(in crate::pandas) mod normalise;
pub(in crate::pandas) mod rewrite;
pub(in crate::pandas) mod rows;
pub(in crate::pandas) mod scan;
pub(in crate::pandas) mod stops;
pub(in crate::pandas) mod tokens;
