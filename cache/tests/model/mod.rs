//! Models of the store's protocols between processes, checked in all interleavings.
//!
//! A model has a state (files and processes) and steps: one system call of one process, or an event (a process is
//! suspended or dies, time passes, a user removes a file).
//!
//! The search visits every state that any order of steps leads to. It checks a condition, and that the goal can still be
//! reached. With one rule of the protocol disabled, it must find a violation.
//!
//! The models do not use a crate for such a search (stateright, loom), because the dependencies of these crates would cause
//! DataFusion to be compiled twice.

mod lease;
mod lease_breaker;
mod private;
mod search;
