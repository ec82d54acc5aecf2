//! Parses numbers, booleans and missing values as pandas does, and formats numbers as Python does.

pub(in crate::pandas) mod floats;
pub(in crate::pandas) mod integers;
pub(in crate::pandas) mod print;
pub(in crate::pandas) mod shortest;
pub(in crate::pandas) mod words;
