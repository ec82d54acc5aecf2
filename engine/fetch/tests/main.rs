//! The tests of `prep-fetch`, one file per subject.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod absent;
mod common;
mod conformance;
mod credentials;
mod faults;
mod kaggle_clients;
mod limits;
mod login;
mod part;
mod plain;
mod protocols;
mod resume;
mod secrets;
mod taken;
