//! Finds test items that are related to training items or to each other, so that answers of one reveal those of
//! another.

pub(super) mod groups;
pub(super) mod kin;
pub(super) mod neighbours;
pub(super) mod other_rows;
