//! Loading is not noticed: as many pipelines as the benchmark has take some 20 ms together.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

use std::time::{Duration, Instant};

/// The bound holds for a release; a build without optimisation is not measured.
#[test]
#[cfg_attr(debug_assertions, ignore = "speed is measured in a release")]
fn a_benchmark_is_loaded_in_no_time() {
    let text = include_str!("accept/everything.yaml");
    // Most pipelines have no second variant.
    let (text, _) = text.split_once("variants:").unwrap();
    let fastest = (0..20).map(|_| {
        let start = Instant::now();
        for _ in 0..82 {
            prep_spec::load("id", "x.yaml", text, "v1").unwrap();
        }
        start.elapsed()
    });
    let fastest = fastest.min().unwrap();
    // An idle core takes about 20 ms; the bound leaves room for a busy one.
    assert!(fastest < Duration::from_millis(100), "{fastest:?}");
}
