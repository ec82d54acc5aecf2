//! The tests of `prep-remote`, one file per subject.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod answers;
mod common;
mod conformance;
mod slow;
mod source;
mod tier;
