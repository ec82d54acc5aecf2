//! Methods of splitting rows.

pub(crate) mod algorithm;
pub(crate) mod first_fit;
pub(crate) mod group_split;
pub(crate) mod groups;
pub(crate) mod python_sample;
pub(crate) mod sample;
pub(crate) mod shuffle_split;
pub(crate) mod stratified;
pub(crate) mod within;
