//! The tests of `prep-sql`, one file per subject.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod arguments;
mod bits;
mod checks;
mod doubles;
mod failing;
mod integers;
mod needed_memory;
mod oracle;
mod queries;
mod random;
mod recorded;
mod reference;
mod rejected_queries;
mod same_rows;
mod support;
mod unpivot;
