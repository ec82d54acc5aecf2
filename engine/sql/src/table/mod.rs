//! Tables that queries read, and tables made from them without a query.

pub(crate) mod relation;
pub(crate) mod unpivot;
