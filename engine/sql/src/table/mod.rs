//! Tables as queries see them.

pub(crate) mod relation;
