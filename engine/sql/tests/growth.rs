//! The time of a query grows as the query and its tables do, not faster.
//!
//! A query of four times the size may take ten times as long: a square would take sixteen, and the machine may be busy.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

#[path = "support/wide.rs"]
mod wide;

use prep_sql::Session;

#[tokio::test]
async fn time_grows_with_the_size() {
    let session = Session::new(&std::env::temp_dir());
    for growing in &wide::GROWING {
        let mut tries = 3;
        loop {
            let small = growing.time(&session, growing.least, tries).await;
            let large = growing.time(&session, growing.least * 4, tries).await;
            if large < small * 10 {
                break;
            }
            assert!(tries < 20, "{}: {small:?}, then {large:?}", growing.name);
            tries += 8;
        }
    }
}
