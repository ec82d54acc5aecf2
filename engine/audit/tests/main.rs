//! The tests of `prep-audit`, one file per subject.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod bundles;
mod containers;
mod published;
mod trees;
