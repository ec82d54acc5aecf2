//! The machine: its identity, disk space, threads, and the files of the operating system.

pub(crate) mod machine;
pub(crate) mod stamp;
pub(crate) mod threads;
