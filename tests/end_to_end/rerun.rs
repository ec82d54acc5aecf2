//! Tests of `prep cache verify --rerun`, which runs steps again under other limits.
//! The results must be equal to those in the cache and in the remote.

use std::fs;

use prep_cache::{Digest, Store};
use serde_json::Value;

use crate::remote::Lab;
use crate::support::{CommandResult, Gallery, Harbour, Sandbox, Snapshot, names_in};

const BOTH: [&str; 2] = [Harbour::ID, Gallery::ID];

fn rerun(sandbox: &Sandbox, more: &[&str]) -> CommandResult {
    let arguments = ["cache", "verify", "--rerun", "--json", "--source", "source"];
    let arguments = [&arguments[..], &["--skip-verification"], more].concat();
    sandbox.prep(&arguments)
}

fn steps(report: &Value) -> Vec<&Value> {
    let competitions = report["competitions"].as_array().expect("competitions");
    let steps = competitions.iter().map(|one| one["steps"].as_array());
    steps.flat_map(|steps| steps.expect("steps")).collect()
}

fn key(report: &Value, step: &str) -> Digest {
    let step = steps(report).into_iter().find(|one| one["step"] == step);
    let key = step.expect("the step")["key"].as_str().expect("a key");
    key.parse().expect("a digest")
}

/// Replaces an output in the cache entry of `step` with an output of the step `other`.
fn plant(sandbox: &Sandbox, step: &Digest, other: &Digest) {
    let store = Store::open(&sandbox.store()).expect("the store");
    let wrong = store.lookup(other).expect("the ledger").expect("an entry");
    let mut entry = store.lookup(step).expect("the ledger").expect("an entry");
    let (name, _) = entry.outputs.pop_first().expect("an output");
    let (_, digest) = wrong.outputs.into_iter().next().expect("an output");
    entry.outputs.insert(name, digest);
    entry.references.extend(wrong.references);
    store.record(step, &entry).expect("the ledger");
}

#[test]
fn rerun_steps_give_the_cached_results() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.pipeline(Gallery::ID, &Gallery::pipeline(0));
    sandbox.bundle(Gallery::ID, &Gallery::archive(60, 1).bytes());
    sandbox.run_all(&BOTH).code(0);
    let directories = [sandbox.store(), sandbox.data()];
    let before = directories
        .clone()
        .map(|directory| Snapshot::of(&directory));
    for more in [
        &[][..],
        &["--jobs", "1"],
        &["--memory", "256MB", "--jobs", "5"],
    ] {
        let report = rerun(&sandbox, more).code(0).json();
        let steps = steps(&report);
        assert!(steps.len() > 10, "{report}");
        assert!(steps.iter().all(|one| one["result"] == "equal"), "{report}");
        assert_eq!(report["equal"], steps.len());
        assert_eq!(report["differs"], 0);
    }
    for (directory, before) in directories.iter().zip(before) {
        assert!(
            before.contents() == Snapshot::of(directory).contents(),
            "{} is only read",
            directory.display()
        );
    }
    assert!(names_in(&sandbox.store().join("tmp")).is_empty());
}

#[test]
fn rerun_finds_a_wrong_cache_entry() {
    let sandbox = Harbour::prepared();
    let report = rerun(&sandbox, &[Harbour::ID]).code(0).json();
    let (right, wrong) = (
        key(&report, "public/train.csv"),
        key(&report, "public/test.csv"),
    );
    plant(&sandbox, &right, &wrong);
    let ended = rerun(&sandbox, &[Harbour::ID]).code(1);
    let report = ended.json();
    let differing: Vec<&Value> = steps(&report)
        .into_iter()
        .filter(|one| one["result"] != "equal")
        .collect();
    let [one] = differing[..] else {
        panic!("{report}");
    };
    assert_eq!(one["step"], "public/train.csv");
    assert_eq!(one["result"], "differs");
    let difference = &one["differences"][0];
    assert_eq!(difference["recorded_in"], "cache");
    assert_ne!(difference["recorded"], difference["made"]);
    // The text output reports the same difference.
    let words = sandbox.prep(&[
        "cache",
        "verify",
        "--rerun",
        Harbour::ID,
        "--source",
        "source",
        "--skip-verification",
    ]);
    words
        .code(1)
        .stdout_has(&["differs: harbour/public/train.csv: output `", "1 differ"]);
}

#[test]
fn rerun_finds_a_wrong_remote_result() {
    let lab = Lab::new();
    let (one, _) = lab.machine(&[], "");
    one.bundle(Harbour::ID, &Harbour::bundle(&Harbour::table()));
    let mut run = one.run_command(&[Harbour::ID]);
    CommandResult::of(run.arg("--no-remote")).code(0);
    let report = rerun(&one, &[Harbour::ID, "--no-remote"]).code(0).json();
    let (right, wrong) = (
        key(&report, "public/train.csv"),
        key(&report, "public/test.csv"),
    );
    let store = Store::open(&one.store()).expect("the store");
    let entry = store.lookup(&right).expect("the ledger").expect("an entry");
    plant(&one, &right, &wrong);
    let push = [
        "remote",
        "push",
        Harbour::ID,
        "--source",
        "source",
        "--skip-verification",
    ];
    one.prep(&push).code(0);
    store.record(&right, &entry).expect("the ledger");
    rerun(&one, &[Harbour::ID, "--no-remote"]).code(0);
    let report = rerun(&one, &[Harbour::ID]).code(1).json();
    assert_eq!(report["differs"], 1, "{report}");
    let differing = steps(&report)
        .into_iter()
        .find(|one| one["result"] == "differs");
    let difference = &differing.expect("a difference")["differences"][0];
    assert_eq!(difference["recorded_in"], "remote");
}

#[test]
fn steps_that_cannot_run_or_were_never_recorded_are_reported() {
    let sandbox = Harbour::prepared();
    // The cache has no results of the steps that the new pipeline changes.
    sandbox.pipeline(
        Harbour::ID,
        &Harbour::PIPELINE.replace("0 AS docked", "1 AS docked"),
    );
    let report = rerun(&sandbox, &[Harbour::ID]).code(0).json();
    assert!(report["unrecorded"].as_u64() > Some(0), "{report}");
    assert!(report["equal"].as_u64() > Some(0), "{report}");
    // Without the bundle, no step can run.
    fs::remove_file(sandbox.source().join("harbour.zip")).expect("the bundle");
    let ended = rerun(&sandbox, &[Harbour::ID]).code(4);
    let report = ended.json();
    assert_eq!(report["equal"], 0, "{report}");
    assert!(report["failed"].as_u64() > Some(0), "{report}");
    assert!(names_in(&sandbox.store().join("tmp")).is_empty());
}
