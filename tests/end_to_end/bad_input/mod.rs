//! Invalid input: exit code, message with problem and place, and no lost data.

mod archives;
mod machine;
mod store;
mod submissions;
mod tables;

use crate::support::{Ended, Harbour, Sandbox, Snapshot, names_in};

/// A message for people: a cause, without internal details of the program.
#[track_caller]
fn assert_readable(ended: &Ended) {
    for word in [
        "panicked",
        "RUST_BACKTRACE",
        "unwrap",
        "Os {",
        "os error",
        "defect",
    ] {
        assert!(!ended.stderr.contains(word), "{}", ended.stderr);
    }
    assert!(ended.stderr.contains("error"), "{}", ended.stderr);
}

/// Prepares `harbour` from invalid input, both without a prepared tree and over a good one.
/// `spoil` puts the input in its place.
#[track_caller]
fn refuses(spoil: impl Fn(&Sandbox), code: i32, parts: &[&str]) {
    let fresh = Sandbox::new();
    Harbour::install(&fresh);
    spoil(&fresh);
    let ended = fresh.run(Harbour::ID).code(code).says(parts);
    assert_readable(&ended);
    assert_eq!(fresh.tree(Harbour::ID), Snapshot::of(&fresh.path("none")));
    assert_eq!(names_in(&fresh.data().join(Harbour::ID)), [""; 0]);
    assert!(!fresh.state(Harbour::ID).starts_with("prepared"));

    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    spoil(&sandbox);
    sandbox.run(Harbour::ID).code(code).says(parts);
    assert_eq!(
        sandbox.tree(Harbour::ID),
        before,
        "an earlier tree was touched"
    );
    sandbox.prep(&["cache", "verify"]).code(0);
    // With good input, the tree is as before.
    Harbour::install(&sandbox);
    sandbox.run_well(Harbour::ID);
    assert_eq!(sandbox.tree(Harbour::ID), before);
}

#[test]
fn an_unknown_competition_is_answered_with_a_near_one() {
    let sandbox = Sandbox::new();
    for verb in [
        &["run", "-c"][..],
        &["plan", "-c"],
        &["list", "-c"],
        &["why"],
        &["pipeline", "graph"],
    ] {
        let arguments = [verb, &["spaceship-titanik"]].concat();
        let ended = sandbox.prep(&arguments).code(2);
        assert_readable(&ended);
        ended.says(&["`spaceship-titanik`", "did you mean `spaceship-titanic`?"]);
    }
    assert!(!sandbox.store().join("objects-v1").exists() || !sandbox.data().exists());
}

#[test]
fn one_bad_bundle_does_not_keep_the_others_from_being_prepared() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.pipeline(
        "marina",
        &Harbour::PIPELINE.replace("kaggle: harbour", "kaggle: marina"),
    );
    sandbox.bundle("marina", b"<!DOCTYPE html><title>Log in</title>");
    let report = sandbox
        .run_all(&["marina", Harbour::ID])
        .code(4)
        .says(&["marina/unpack"])
        .json();
    assert_eq!(report["competitions"][0]["state"], "failed", "{report}");
    assert_eq!(report["competitions"][1]["state"], "prepared", "{report}");
    assert_eq!(sandbox.state(Harbour::ID), "prepared v1");
    assert_eq!(sandbox.state("marina"), "not prepared");
}

#[test]
fn one_bad_pipeline_keeps_the_others_from_being_prepared_only_if_asked_for() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.pipeline(
        "marina",
        &Harbour::PIPELINE.replace("category:", "kategory:"),
    );
    let both = ["marina", Harbour::ID];
    let mut hasty = sandbox.run_command(&both);
    let hasty = Ended::of(hasty.arg("--fail-fast"));
    hasty.code(3).says(&["`kategory`"]);
    assert_eq!(sandbox.state(Harbour::ID), "not prepared");
    sandbox.run_all(&both).code(3).says(&["`kategory`"]);
    assert_eq!(sandbox.state(Harbour::ID), "prepared v1");
}
