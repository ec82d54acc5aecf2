//! Searches for leaks in small generated competitions.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod channels;
mod honest;
mod silent;
#[path = "../../../../tests/temporary/mod.rs"]
mod temporary;
