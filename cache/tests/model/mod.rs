//! Models of the store's protocols between processes, checked in all interleavings.
//!
//! A model has a state (files and processes) and steps. One step is one system call of one process, or an event from
//! outside: a process is suspended or dies, time passes, or a user removes a file. The search visits every state that
//! any order of steps leads to. In each state, it checks a condition, and that the goal can still be reached. Each
//! protocol is also checked with one of its rules disabled. The search must then find the violation.
//!
//! The search is implemented here, in a few lines, because the crates for it (stateright, loom) enable features of
//! shared dependencies. With these features, `cargo test --workspace` would compile DataFusion a second time.

mod lease;
mod lease_breaker;
mod private;
mod search;
