//! Tests of `prep remove`, which removes prepared data, bundles and cached results.

use crate::support::{Gallery, Harbour, Sandbox, names_in};

#[test]
fn removing_a_competition_keeps_others() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    sandbox.bundle(Gallery::ID, &Gallery::archive(20, 1).bytes());
    sandbox.run_all(&[Harbour::ID, Gallery::ID]).code(0);
    let other = sandbox.tree(Gallery::ID);
    let before = sandbox.tree(Harbour::ID);
    let planned = sandbox.prep(&["remove", Harbour::ID, "--dry-run", "--json"]);
    let planned = planned.code(0).json();
    assert!(planned["cache"]["objects"].as_u64() > Some(0), "{planned}");
    // Without a terminal, the command cannot ask for confirmation.
    sandbox
        .prep(&["remove", Harbour::ID])
        .code(1)
        .stderr_has(&["nothing was removed", "--yes"]);
    assert_eq!(sandbox.tree(Harbour::ID), before);
    sandbox.prep(&["remove", Harbour::ID, "--yes"]).code(0);
    assert_eq!(names_in(&sandbox.data().join(Harbour::ID)), [""; 0]);
    assert_eq!(sandbox.state(Harbour::ID), "not prepared");
    assert_eq!(sandbox.tree(Gallery::ID), other);
    sandbox.prep(&["cache", "verify"]).code(0);
    assert!(sandbox.run_and_count_steps(Harbour::ID) > 0);
    assert_eq!(sandbox.run_and_count_steps(Gallery::ID), 0);
}

#[test]
fn one_variant_can_be_removed() {
    let sandbox = Harbour::prepared();
    let run = [
        "run",
        Harbour::ID,
        "--source",
        "source",
        "--variant",
        "fixed",
    ];
    sandbox.prep(&run).code(0);
    let before = sandbox.tree(Harbour::ID);
    let remove = ["remove", Harbour::ID, "--yes"];
    let planned = sandbox.prep(&["remove", Harbour::ID, "--dry-run"]).code(0);
    planned.stdout_has(&["harbour      v1 fixed"]);
    let removed = [&remove[..], &["--variant", "fixed"]].concat();
    sandbox
        .prep(&removed)
        .code(0)
        .stdout_has(&["harbour      fixed  "]);
    assert!(!sandbox.path("data/fixed/harbour").exists());
    assert_eq!(sandbox.tree(Harbour::ID), before);
    assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 0);
}

#[test]
fn a_dry_run_without_confirmation_removes_nothing() {
    let sandbox = Harbour::prepared();
    let before = sandbox.tree(Harbour::ID);
    let remove = ["remove", Harbour::ID, "--dry-run", "--yes"];
    sandbox.prep(&remove).code(0).stdout_has(&[Harbour::ID]);
    assert_eq!(sandbox.tree(Harbour::ID), before);
}
