//! Tables that are stored as canonical text: rows and cells of it, copied or as Arrow arrays.

pub(in crate::pandas) mod arrays;
pub(in crate::pandas) mod batches;
pub(in crate::pandas) mod gather;
pub(in crate::pandas) mod index;
pub(in crate::pandas) mod projection;
pub(in crate::pandas) mod table;
