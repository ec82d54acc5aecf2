//! Finds the answers themselves, or facts that predict them.

pub(super) mod answers_elsewhere;
pub(super) mod column;
mod exact;
pub(super) mod facts;
pub(super) mod verbatim;
