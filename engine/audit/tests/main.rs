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

/// The source files of tests that expect causes.
const TEST_SOURCES: [&str; 8] = [
    include_str!("bundles.rs"),
    include_str!("containers.rs"),
    include_str!("published.rs"),
    include_str!("trees/mod.rs"),
    include_str!("trees/cases.rs"),
    include_str!("trees/further.rs"),
    include_str!("trees/together.rs"),
    include_str!("../../../tests/end_to_end/audit.rs"),
];

#[test]
fn every_cause_is_tested() {
    let without: Vec<&str> = prep_audit::Cause::all()
        .map(prep_audit::Cause::id)
        .filter(|id| {
            !TEST_SOURCES
                .iter()
                .any(|text| text.contains(&format!("\"{id}\"")))
        })
        .collect();
    assert!(without.is_empty(), "no test expects {without:?}");
}
