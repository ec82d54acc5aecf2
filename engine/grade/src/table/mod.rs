//! The two tables that are graded: how they are read, their columns, and how pandas and scikit-learn interpret them.

pub(crate) mod answers;
pub(crate) mod key;
pub(crate) mod numbers;
pub(crate) mod pair;
pub mod sort;
pub mod submission;
pub(crate) mod target;
pub mod typed;
