//! The tests of `prep-splits`, one file per subject.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod codes;
mod common;
mod generators;
mod methods;
mod sets;
mod splits;
