//! Methods of splitting rows.

pub(crate) mod algorithm;
pub(crate) mod groups;
pub(crate) mod sample;
pub(crate) mod shuffle_split;
pub(crate) mod stratified;
