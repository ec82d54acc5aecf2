//! Tables as queries see them, and as DataFusion sees them.

pub(crate) mod provider;
pub(crate) mod relation;
