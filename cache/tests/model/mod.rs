//! Models of the store's protocols between processes, checked in all interleavings.
//!
//! A model has a state (files and processes) and steps; one step is one system call of one process, or an event from
//! outside: a process is suspended or dies, time passes, a user removes a file. The search visits every state that any
//! order of steps leads to. It checks a condition in each of them, and that the goal can still be reached from it. Each
//! protocol is also checked with a weaker rule in place of one of its own: the search must then find the violation.
//!
//! The search is a few lines here because the crates for it (stateright, loom) enable features of shared dependencies,
//! with which `cargo test --workspace` would compile DataFusion once more.

mod lease;
mod lease_breaker;
mod private;
mod search;
