//! The tests of `prep-core`, one file per subject.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

use std::path::Path;
use std::sync::Arc;

use prep_cache::{HistoryScope, Store};
use prep_core::LastRuns;

mod conformance;
mod engine;
mod limits;
mod lost_objects;
mod memory_results;
mod scheduler;
#[allow(dead_code, reason = "other crates wait for open files")]
#[path = "../../../tests/until/mod.rs"]
mod until;

fn last_runs(store: &Store) -> Arc<LastRuns> {
    let scope = HistoryScope::new("v1", Path::new("/data"));
    Arc::new(LastRuns::new(store, scope, |_| None))
}
