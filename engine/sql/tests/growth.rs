//! The time of a query grows linearly with the size of the query and of its tables.
//!
//! If the size grows by a factor of 4, the time may grow by a factor of 10. Quadratic growth would be a factor of 16.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

#[path = "support/wide.rs"]
mod wide;

use prep_sql::Session;

/// Stack size in bytes that the deepest plans need. The program `prep` uses the same size.
const STACK_BYTES: usize = 64 << 20;

#[test]
fn query_time_grows_linearly_with_the_size() {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
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
            let small = growing.time(&session, growing.min_size, tries).await;
            let large = growing.time(&session, growing.min_size * 4, tries).await;
            if large < small * growing.max_ratio {
                break;
            }
            assert!(
                tries < 20,
                "{}: {small:?}, and {large:?} for four times the size",
                growing.name
            );
            tries += 8;
        }
    }
}
