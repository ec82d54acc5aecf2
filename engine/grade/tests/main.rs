//! Tests of `prep-grade`, one file per subject.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod answers;
mod frames;
mod graders;
mod large;
mod medals;
mod metrics;
mod reference;
mod refusals;
mod report;
mod sort;
mod spec;
mod suites;
