//! Opens tables that are stored as canonical text; copies their rows and cells, or converts them to Arrow arrays.

pub(in crate::pandas) mod arrays;
pub(in crate::pandas) mod batches;
pub(in crate::pandas) mod gather;
pub(in crate::pandas) mod index;
pub(in crate::pandas) mod projection;
pub(in crate::pandas) mod table;
