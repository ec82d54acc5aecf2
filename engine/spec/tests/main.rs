//! The tests of `prep-spec`, one file per subject.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod catalog;
mod diagnostics;
mod mutations;
mod queries;
mod trees;
mod variants;
mod vocabulary;
