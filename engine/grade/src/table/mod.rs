//! The two tables that are graded: how they are read, their columns, and what pandas and scikit-learn see in them.

pub mod answers;
pub mod columns;
pub mod frame;
pub mod ids;
pub mod key;
pub mod numbers;
pub mod order;
pub mod pair;
pub mod positions;
pub mod sort;
pub mod submission;
pub mod target;
pub mod unread;
