//! Work on all files of a store: counting, checking and removing them.

pub(crate) mod forget;
pub(crate) mod gc;
pub(crate) mod stat;
pub(crate) mod verify;
