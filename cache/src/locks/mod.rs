//! Locks between threads, processes and machines.

pub(crate) mod file;
pub(crate) mod lease;
pub(crate) mod process;
pub(crate) mod store;
