//! Tests of the documented way from an agent's runs to the figures of experiments.

use std::fs;
use std::path::Path;

use crate::support::{Harbour, Sandbox};

/// Two experiments. As in `docs/guide.md`, each run group is graded separately.
#[test]
fn run_groups_are_graded_and_summarized() {
    let sandbox = Harbour::prepared();
    let submission = "id,docked\n1,1\n";
    for group in ["g1", "g2"] {
        let path = format!("runs/{group}/{}_1/submission/submission.csv", Harbour::ID);
        sandbox.write(&path, submission);
    }
    let table = "experiment_id,run_group\nmine,g1\ntheirs,g2\n";
    sandbox.write("runs/run_group_experiments.csv", table);
    let groups = ["summarize", "--groups", "runs/run_group_experiments.csv"];
    let advice = "`prep grade runs/g1 -o runs/g1` writes the report";
    sandbox.prep(&groups).says(&["g1 is left out", advice]);
    for group in ["runs/g1", "runs/g2"] {
        let graded = sandbox.prep(&["grade", group, "-o", group, "--json"]);
        assert!(Path::new(&written(&sandbox, &graded.code(0).json())).starts_with(group));
    }
    let summary = sandbox.prep(&groups).code(0);
    assert!(!summary.stderr.contains("left out"), "{}", summary.stderr);
    summary.shows(&["mine        own         1", "theirs      own         1"]);
}

/// Returns the path of the report that a document names, and asserts that the report exists.
fn written(sandbox: &Sandbox, document: &serde_json::Value) -> String {
    let path = document["report"].as_str().expect("a path").to_owned();
    fs::metadata(sandbox.path(&path)).expect("a report");
    path
}

#[test]
fn json_of_one_submission_names_its_report() {
    let sandbox = Harbour::prepared();
    sandbox.write("mine.csv", "id,docked\n1,1\n");
    let grade = ["grade", Harbour::ID, "mine.csv", "--json"];
    let graded = sandbox.prep(&grade).code(1).json();
    assert!(graded.get("report").is_none(), "{graded}");
    let graded = sandbox.prep(&[&grade[..], &["-o", "reports"]].concat());
    written(&sandbox, &graded.code(1).json());
}
