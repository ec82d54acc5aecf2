//! Tests of invalid input: the exit code is right, the message names problem and place, and no data are lost.

mod archives;
mod machine;
mod store;
mod submissions;
mod tables;

use crate::support::{CommandResult, Harbour, Sandbox, Snapshot, names_in};

/// Asserts that stderr has a cause and no internal details of the program.
#[track_caller]
fn assert_readable(ended: &CommandResult) {
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

/// Prepares `harbour` from invalid input, first without a prepared tree and then over a good tree.
/// `damage` replaces the valid input with invalid input.
#[track_caller]
fn assert_input_is_rejected(damage: impl Fn(&Sandbox), code: i32, parts: &[&str]) {
    let fresh = Sandbox::new();
    Harbour::install(&fresh);
    damage(&fresh);
    let ended = fresh.run(Harbour::ID).code(code).stderr_has(parts);
    assert_readable(&ended);
    assert_eq!(fresh.tree(Harbour::ID), Snapshot::of(&fresh.path("none")));
    let mut names = names_in(&fresh.data().join(Harbour::ID)).into_iter();
    assert!(names.all(|name| name == "prepared.failed"));
    assert!(!fresh.state(Harbour::ID).starts_with("prepared"));

    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    damage(&sandbox);
    sandbox.run(Harbour::ID).code(code).stderr_has(parts);
    assert_eq!(
        sandbox.tree(Harbour::ID),
        before,
        "an earlier tree was touched"
    );
    sandbox.prep(&["cache", "verify"]).code(0);
    // Good input restores the tree.
    Harbour::install(&sandbox);
    sandbox.run_and_count_steps(Harbour::ID);
    assert_eq!(sandbox.tree(Harbour::ID), before);
}

#[test]
fn unknown_competition_error_suggests_a_similar_id() {
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
        ended.stderr_has(&["`spaceship-titanik`", "did you mean `spaceship-titanic`?"]);
    }
    assert!(!sandbox.store().join("objects-v1").exists() || !sandbox.data().exists());
}

#[test]
fn bad_bundle_does_not_stop_other_competitions() {
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
        .stderr_has(&["marina/bundle"])
        .json();
    assert_eq!(report["competitions"][0]["state"], "failed", "{report}");
    assert_eq!(report["competitions"][1]["state"], "prepared", "{report}");
    assert_eq!(sandbox.state(Harbour::ID), "prepared v1");
    assert_eq!(sandbox.state("marina"), "not prepared");
}

#[test]
fn bad_pipeline_stops_other_competitions_only_with_fail_fast() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.pipeline(
        "marina",
        &Harbour::PIPELINE.replace("category:", "kategory:"),
    );
    let both = ["marina", Harbour::ID];
    let mut hasty = sandbox.run_command(&both);
    let hasty = CommandResult::of(hasty.arg("--fail-fast"));
    hasty.code(3).stderr_has(&["`kategory`"]);
    assert_eq!(sandbox.state(Harbour::ID), "not prepared");
    sandbox.run_all(&both).code(3).stderr_has(&["`kategory`"]);
    assert_eq!(sandbox.state(Harbour::ID), "prepared v1");
}
