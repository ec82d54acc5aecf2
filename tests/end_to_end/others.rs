//! Tests with a `prepared` directory that another program wrote, for example upstream's scripts.

use std::fs;

use crate::support::{Harbour, Sandbox, hex_md5};

/// Prepares `harbour`, and removes the records that `prep` wrote. `md5` returns the published checksum of the answers.
fn world(md5: impl FnOnce(&[u8]) -> String) -> Sandbox {
    let sandbox = Harbour::prepared();
    let home = sandbox.data().join(Harbour::ID);
    for name in ["prepared.json", "prepared.files"] {
        fs::remove_file(home.join(name)).expect("removed");
    }
    let answers = fs::read(home.join("prepared/private/test.csv")).expect("answers");
    let sums = format!("{{\"private\":{{\"test.csv\":\"{}\"}}}}", md5(&answers));
    sandbox.write("pipelines/harbour/checksums.json", sums);
    sandbox
}

const SAMPLE: &str = "data/harbour/prepared/public/sample_submission.csv";

#[test]
fn answers_with_the_published_checksum_are_used_for_grading() {
    let sandbox = world(hex_md5);
    let grade = ["grade", Harbour::ID, SAMPLE, "--json"];
    let report = sandbox.prep(&grade).code(0).competition();
    assert!(report["score"].is_number(), "{report}");
    assert_eq!(report["variant"], "own");
    assert_eq!(sandbox.state(Harbour::ID), "not prepared");
}

#[test]
fn answers_without_the_published_checksum_are_rejected() {
    let sandbox = world(|_| "00000000000000000000000000000000".to_owned());
    let ended = sandbox.prep(&["grade", Harbour::ID, SAMPLE]).code(4);
    ended.stderr_has(&[
        "there is no `prepared.json` next to",
        "also copy `prepared.json` and `prepared.files`",
        "`prep run harbour`",
        "--answers ",
    ]);
    // Without a published checksum, `prep` cannot verify the answers.
    fs::remove_file(sandbox.path("pipelines/harbour/checksums.json")).expect("removed");
    sandbox.prep(&["grade", Harbour::ID, SAMPLE]).code(4);
}
