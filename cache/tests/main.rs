//! The tests of `prep-cache`, one file per subject.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod common;
mod damage;
mod digest;
#[path = "../../tests/faults/mod.rs"]
mod faults;
mod gc;
mod ledger;
mod links;
mod model;
mod objects;
mod processes;
#[path = "../../tests/skipped/mod.rs"]
mod skipped;
mod sources;
#[path = "../../tests/temporary/mod.rs"]
mod temporary;
mod unprivileged;
#[path = "../../tests/until/mod.rs"]
mod until;
