//! Finds test items that are equal or almost equal to training items.

pub(super) mod near;
pub(super) mod near_files;
pub(super) mod near_rows;
pub(super) mod rows;
