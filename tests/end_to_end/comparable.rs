//! Tests which scores are comparable with upstream's, and which prepared data are called `v1`.

use std::fs;

use crate::support::{Harbour, Sandbox, hex_md5};

const SAMPLE: &str = "data/harbour/prepared/public/sample_submission.csv";
const SUMS: &str = "pipelines/harbour/checksums.json";
const RUN: [&str; 4] = ["run", Harbour::ID, "--source", "source"];

fn list(sandbox: &Sandbox) -> serde_json::Value {
    sandbox
        .prep(&["list", "-c", Harbour::ID, "--json"])
        .code(0)
        .competition()
}

fn obstacles(value: &serde_json::Value) -> String {
    value["not_comparable_because"].to_string()
}

#[test]
fn custom_pipeline_is_not_v1() {
    let sandbox = Harbour::prepared();
    let row = list(&sandbox);
    assert_eq!(row["state"], "prepared v1 (own pipeline)");
    assert_eq!(row["comparable_with_v1"], false);
    let report = sandbox
        .prep(&["grade", Harbour::ID, SAMPLE, "--json"])
        .competition();
    assert_eq!(report["variant"], "own");
    assert_eq!(report["comparable_with_v1"], false);
    assert!(
        obstacles(&report).contains("does not belong to the benchmark"),
        "{report}"
    );
    let lock = fs::read_to_string(sandbox.data().join("prep.lock")).expect("lock");
    assert!(
        lock.contains("harbour v1 comparable_with_v1 no: "),
        "{lock}"
    );
    // The bundle has no published MD5, so the lockfile records its digest.
    let bundle = lock.lines().find(|line| line.contains(" bundle "));
    let bundle = bundle.expect("a bundle");
    assert!(
        bundle.contains("blake3:") && bundle.ends_with(" not verified"),
        "{bundle}"
    );
}

#[test]
fn differing_checksums_are_remembered_when_skipped() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.write(
        SUMS,
        r#"{ "public": { "train.csv": "00000000000000000000000000000000" } }"#,
    );
    sandbox.prep(&RUN).code(5);
    let why = [
        "why",
        Harbour::ID,
        "checksum/public/train.csv",
        "--source",
        "source",
    ];
    let failed = "it failed: `public/train.csv` has MD5";
    sandbox
        .prep(&why)
        .code(0)
        .stdout_has(&["would run: it failed", failed]);
    sandbox
        .prep(&[&RUN[..], &["--skip-verification"]].concat())
        .code(0);
    let row = list(&sandbox);
    assert!(
        obstacles(&row).contains("checksums differ: public/train.csv is not as published"),
        "{row}"
    );
    let strict = "--skip-verification=no";
    let why = [&why[..], &[strict]].concat();
    sandbox
        .prep(&why)
        .code(0)
        .stdout_has(&["would run: it failed"]);
    // With the right bundle, the comparison passes, and `prep` removes the record of the difference.
    let right =
        hex_md5(&fs::read(sandbox.prepared(Harbour::ID).join("public/train.csv")).expect("a file"));
    sandbox.write(
        SUMS,
        format!(r#"{{ "public": {{ "train.csv": "{right}" }} }}"#),
    );
    sandbox.prep(&[&RUN[..], &[strict]].concat()).code(0);
    assert!(
        !obstacles(&list(&sandbox)).contains("checksum"),
        "{}",
        list(&sandbox)
    );
    // A later run that skips the comparison keeps its last result if the data are the same.
    sandbox
        .prep(&[&RUN[..], &["--skip-verification"]].concat())
        .code(0);
    assert!(
        !obstacles(&list(&sandbox)).contains("checksum"),
        "{}",
        list(&sandbox)
    );
}

#[test]
fn skipped_checksums_are_shown_as_not_verified() {
    let sandbox = Harbour::prepared();
    sandbox
        .prep(&["why", Harbour::ID, "publish", "--source", "source"])
        .code(0)
        .stdout_has(&["it last ran because: first run"]);
    let other = Sandbox::new();
    Harbour::install(&other);
    other
        .prep(&[&RUN[..], &["--skip-verification"]].concat())
        .code(0);
    assert!(
        obstacles(&list(&other)).contains("were not compared"),
        "{}",
        list(&other)
    );
}
