//! The time of a query grows linearly with the size of the query and of its tables.
//!
//! A query of four times the size may take ten times as long. Quadratic growth would take sixteen times as long, and
//! the margin below that allows for a busy machine.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

#[path = "support/wide.rs"]
mod wide;

use prep_sql::Session;

/// Stack size in bytes for the deepest plans. The program uses the same.
const STACK: usize = 64 << 20;

#[test]
fn time_grows_with_the_size() {
    let thread = std::thread::Builder::new().stack_size(STACK);
    let measured = thread.spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(measure());
    });
    measured.expect("a thread").join().expect("linear times");
}

async fn measure() {
    let session = Session::new(&std::env::temp_dir());
    for growing in &wide::GROWING {
        let mut tries = 3;
        loop {
            let small = growing.time(&session, growing.least, tries).await;
            let large = growing.time(&session, growing.least * 4, tries).await;
            if large < small * growing.most {
                break;
            }
            assert!(tries < 20, "{}: {small:?}, then {large:?}", growing.name);
            tries += 8;
        }
    }
}
