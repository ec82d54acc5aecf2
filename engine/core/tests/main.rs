//! The tests of `prep-core`, one file per subject.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod conformance;
mod engine;
mod limits;
mod lost_objects;
mod memory_results;
mod scheduler;
#[allow(dead_code, reason = "other crates wait for open files")]
#[path = "../../../tests/until/mod.rs"]
mod until;
