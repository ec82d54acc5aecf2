//! The tests of `prep-fetch`, one file per subject.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod common;
mod conformance;
mod credentials;
mod deleted_bundle;
mod faults;
mod kaggle_clients;
mod limits;
mod local_bundles;
mod login;
mod part;
mod plain_http;
mod protocols;
mod resume;
mod secrets;
mod silence;
#[path = "../../../tests/skipped/mod.rs"]
mod skipped;
#[path = "../../../tests/temporary/mod.rs"]
mod temporary;
#[path = "../../../tests/until/mod.rs"]
mod until;
mod url_sources;
mod versions;
