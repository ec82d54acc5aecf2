//! Tests of the documented way from an agent's runs to the figures of experiments.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::support::{Harbour, Sandbox, names_in};

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
    sandbox
        .prep(&["summarize", "runs/run_group_experiments.csv"])
        .code(2)
        .stderr_has(&["write `--groups runs/run_group_experiments.csv`"]);
    let page = ["report", "-o", "r.html", groups[1], groups[2]];
    for arguments in [&groups[..], &page] {
        let ended = sandbox.prep(arguments).code(4);
        assert_eq!(
            ended.stderr,
            "error: the run groups of runs/run_group_experiments.csv contain no grading report\n  \
             help: write a report for each run group, for example with `prep grade runs/g1 -o runs/g1`\n"
        );
    }
    for (group, warns) in [("runs/g1", true), ("runs/g2", false)] {
        let graded = sandbox.prep(&["grade", group, "-o", group, "--json"]);
        assert!(Path::new(&written(&sandbox, &graded.code(0).json())).starts_with(group));
        let warning = "theirs: run groups without a grading report are left out: g2; \
                       `prep grade runs/g2 -o runs/g2` writes the report";
        for arguments in [&groups[..], &page] {
            let ended = sandbox.prep(arguments);
            assert_eq!(ended.stderr.contains(warning), warns, "{}", ended.stderr);
        }
        // The page shows the warning without the command.
        let page = fs::read_to_string(sandbox.path("r.html")).expect("a page");
        let text = "run groups without a grading report are left out: g2.";
        assert_eq!(page.contains(text), warns, "{page}");
    }
    let summary = sandbox.prep(&groups).code(0);
    assert!(!summary.stderr.contains("left out"), "{}", summary.stderr);
    summary.stdout_has(&["mine        own      1", "theirs      own      1"]);
}

/// Returns the path of the report that a document names, and asserts that the report exists.
fn written(sandbox: &Sandbox, document: &serde_json::Value) -> String {
    let path = document["report"].as_str().expect("a path").to_owned();
    fs::metadata(sandbox.path(&path)).expect("a report");
    path
}

#[test]
fn submissions_at_another_place_have_a_warning() {
    let sandbox = Harbour::prepared();
    for place in [
        "1/submission.csv",
        "2/submission/ok.csv",
        "3/submission/submission.csv",
    ] {
        let path = format!("runs/{}_{place}", Harbour::ID);
        sandbox.write(&path, "id,docked\n1,1\n");
    }
    let graded = sandbox.prep(&["grade", "runs", "-o", "rep"]).code(0);
    let graded = graded.stderr_has(&[
        "2 of them without a submission",
        "2 runs have no submission at their place, so they are graded as failed runs",
        "expected RUN/submission/submission.csv, found ",
        "move the files to that path, for example runs/harbour_1/submission.csv to \
         runs/harbour_1/submission/submission.csv",
        "harbour_1/submission.csv",
        "harbour_2/submission/ok.csv",
    ]);
    assert!(!graded.stderr.contains("harbour_3"), "{}", graded.stderr);
    // The report names the directories of these runs, because they have no path of a submission.
    let report = names_in(&sandbox.path("rep")).remove(0);
    let report = sandbox.path("rep").join(report);
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(report).expect("a report")).expect("JSON");
    let entries = report["competition_reports"].as_array().expect("a list");
    for entry in entries {
        let run = entry["run"].as_str().unwrap_or_default();
        let exists = entry["submission_exists"] == true;
        assert_eq!(run.is_empty(), exists, "{entry}");
        assert_eq!(entry["submission_path"] == "None", !exists, "{entry}");
        let reason = &entry["reason"]["message"];
        assert_eq!(reason == "no submission", !exists, "{entry}");
    }
    let page = ["report", "--grading", "rep", "-o", "page/of/runs.html"];
    sandbox.prep(&page).code(0);
    let page = fs::read_to_string(sandbox.path("page/of/runs.html")).expect("a page");
    for part in [
        "runs/harbour_1<",
        "href=\"#experiments\"",
        "<h1>Experiments and competitions",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
}

/// No run disappears without a message.
#[test]
fn runs_that_are_left_out_or_empty_have_a_warning() {
    const USUAL: &str = "submission/submission.csv";
    for (files, place, code, expected) in [
        (
            "harbour_1 harbour-2",
            USUAL,
            0,
            "left out because a run is named ID_anything: runs/harbour-2",
        ),
        (
            "harbour_1 g/harbour_2",
            USUAL,
            0,
            "left out because they are not named as run groups in this command: runs/g",
        ),
        (
            "old/g/harbour_2",
            USUAL,
            4,
            "runs/old contains run groups; write runs/old/*/",
        ),
        (
            "harbour-2",
            USUAL,
            4,
            "rename runs/harbour-2 to ID_anything",
        ),
        ("harbor_1", USUAL, 4, "did you mean harbour_anything?"),
        (
            "harbor_1 harbour_1",
            USUAL,
            0,
            "no competition `harbor`; did you mean `harbour`?",
        ),
        (
            "harbour_1",
            "other/x.csv",
            0,
            "found runs/harbour_1/submission/submission.csv",
        ),
    ] {
        let sandbox = Harbour::prepared();
        for run in files.split(' ') {
            sandbox.write(&format!("runs/{run}/{USUAL}"), "id,docked\n1,1\n");
        }
        let listed = sandbox.prep(&["grade", "runs", "--list", "--submission-path", place]);
        let listed = listed.code(code);
        assert!(
            listed.stderr.contains(expected),
            "{files}: {}",
            listed.stderr
        );
    }
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.write(&format!("runs/harbour_1/{USUAL}"), "id,docked\n1,1\n");
    let not_listed = "left out because metadata.json does not list them: runs/harbour_1";
    for (runs, code, expected) in [
        (
            r#"["harbour_1"]"#,
            0,
            "1 run, 0 of them without a submission",
        ),
        (
            r#"{"harbour_1": {}, "harbour_2": {}}"#,
            0,
            "whose directories do not exist: runs/harbour_2",
        ),
        (r#"{"harbour_2": {}}"#, 0, not_listed),
        (
            "{}",
            4,
            "add the name of runs/harbour_1 to `runs` in the metadata.json",
        ),
        ("[1]", 4, "no `runs` with the names of the runs"),
    ] {
        sandbox.write("runs/metadata.json", format!("{{\"runs\": {runs}}}"));
        let listed = sandbox.prep(&["grade", "runs", "--list"]).code(code);
        listed.stderr_has(&[expected]);
    }
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    for agent in ["mine", "theirs"] {
        let path = format!("runs/1_run-group_{agent}/harbour_1/{USUAL}");
        sandbox.write(&path, "id,docked\n1,1\n");
    }
    let [mine, theirs] = ["mine", "theirs"].map(|agent| format!("runs/1_run-group_{agent}"));
    let both = sandbox.prep(&["grade", &mine, &theirs, "--list"]).code(0);
    let warning = "the run groups are those of different agents";
    both.stderr_has(&[warning, "mine, theirs"]);
    let one = sandbox.prep(&["grade", &mine, "--list"]).code(0);
    assert!(!one.stderr.contains(warning), "{}", one.stderr);
    let sandbox = Harbour::prepared();
    sandbox.write("runs/harbour_1/notes.txt", "");
    let graded = sandbox.prep(&["grade", "runs", "-o", "rep"]).code(0);
    graded.stderr_has(&["no run has a submission at RUN/submission/submission.csv"]);
}

#[test]
fn a_report_replaces_only_another_page() {
    let sandbox = Harbour::prepared();
    for (content, code) in [("my thesis", 2), ("", 0), ("<!DOCTYPE html><p>old", 0)] {
        sandbox.write("page.html", content);
        let ended = sandbox.prep(&["report", "-o", "page.html"]).code(code);
        let page = fs::read_to_string(sandbox.path("page.html")).expect("a file");
        assert_eq!(page == content, code == 2, "{}", ended.stderr);
    }
}

/// The option is only right if it fits all runs.
#[test]
fn the_option_for_another_place_must_fit_all_runs() {
    for (files, expected) in [
        ("1/ok.csv 2/ok.csv", "write `--submission-path ok.csv`"),
        (
            "1/submission/a.csv",
            "write `--submission-path submission/a.csv`",
        ),
        (
            "1/submission/submission/submission.csv",
            "write `--submission-path submission/submission/submission.csv`",
        ),
        (
            "1/workspace/code/out/submission.csv",
            "write `--submission-path workspace/code/out/submission.csv`",
        ),
        ("1/ok.csv 2/other.csv", "move the files"),
        ("1/ok.csv 2/submission/submission.csv", "move the files"),
        ("1/ok.csv 2/agent.log", "move the files"),
    ] {
        let sandbox = Harbour::prepared();
        for file in files.split(' ') {
            sandbox.write(&format!("runs/{}_{file}", Harbour::ID), "id,docked\n1,1\n");
        }
        let listed = sandbox.prep(&["grade", "runs", "--list"]).code(0);
        assert!(
            listed.stderr.contains(expected),
            "{files}: {}",
            listed.stderr
        );
    }
}

/// A run that was graded twice is not a second seed.
#[test]
fn runs_that_were_graded_twice_have_a_warning() {
    let sandbox = Harbour::prepared();
    let submission = "id,docked\n1,1\n";
    for run in ["a", "b"] {
        let path = format!("runs/g/{}_{run}/submission/submission.csv", Harbour::ID);
        sandbox.write(&path, submission);
    }
    let grade = ["grade", "runs/g", "-o", "rep"];
    // The table has a column with the paths, because both runs are about one competition.
    let path = format!("{}_b/submission/submission.csv", Harbour::ID);
    let graded = sandbox.prep(&grade).code(0);
    graded.stdout_has(&["competition  path", &path]);
    let warning = "graded several times";
    let once = sandbox.prep(&["summarize", "rep"]).code(0);
    assert!(!once.stderr.contains(warning), "{}", once.stderr);
    sandbox.prep(&grade).code(0);
    let twice = sandbox.prep(&["summarize", "rep"]).code(0);
    twice.stderr_has(&[
        "2 runs were graded several times",
        "`harbour` has 2 gradings",
    ]);
    let json = sandbox.prep(&["summarize", "rep", "--json"]).code(0).json();
    assert_eq!(json["experiments"][0]["repeated_runs"][1]["gradings"], 2);
    let page = [
        "report",
        "-o",
        "a.html",
        "--grading",
        "x=rep",
        "--grading",
        "x=rep",
        "--json",
    ];
    let page = sandbox.prep(&page).code(0);
    let json = page.json();
    page.stderr_has(&[
        "x: 2 runs were graded several times",
        "x: some reports are named several times, but counted once: ",
    ]);
    assert_eq!(json["repeated_runs"][0]["runs"][0]["gradings"], 2);
}

/// A run whose competition was not prepared is neither missing nor failed.
#[test]
fn runs_that_were_not_graded_have_a_warning() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let path = format!("runs/g/{}_a/submission/submission.csv", Harbour::ID);
    sandbox.write(&path, "id,docked\n1,1\n");
    sandbox.write("ids.txt", Harbour::ID);
    let grade = ["grade", "runs/g", "-o", "rep"];
    let ungraded = sandbox.prep(&["summarize", "runs"]).code(4);
    ungraded.stderr_has(&["grade them first: `prep grade runs -o DIR`"]);
    sandbox.prep(&grade).code(4);
    let summarize = ["summarize", "rep", "--ids-from", "ids.txt", "--pad-missing"];
    let warning = "1 run was not graded: competition `harbour` is not prepared";
    for arguments in [&summarize[..], &summarize[..4]] {
        let ended = sandbox.prep(arguments).code(4);
        let error = "no figures for `ids`: runs of harbour were not graded";
        let ended = ended.stderr_has(&[warning, error]);
        assert!(!ended.stderr.contains("help"), "{}", ended.stderr);
    }
    let json = sandbox.prep(&["summarize", "rep", "--json"]).json();
    assert_eq!(
        json["experiments"][0]["ungraded_runs"][0]["competition"],
        Harbour::ID
    );
    sandbox.run_and_count_steps(Harbour::ID);
    let page = ["report", "-o", "a.html", "--grading", "x=rep"];
    sandbox.prep(&page).code(0).stderr_has(&["x: ", warning]);
    // The next report contains the grading of the run.
    sandbox.prep(&grade).code(0);
    for arguments in [&summarize[..], &page] {
        let ended = sandbox.prep(arguments).code(0);
        assert!(!ended.stderr.contains("not graded"), "{}", ended.stderr);
    }
}

/// A report states the variant and the digest of the rules. Scores of different test rows or metrics are not averaged in
/// silence.
#[test]
fn runs_without_a_comparable_mean_have_a_warning() {
    let sandbox = Harbour::prepared();
    let path = format!("runs/g/{}_a/submission/submission.csv", Harbour::ID);
    sandbox.write(&path, "id,docked\n1,1\n");
    sandbox.prep(&["grade", "runs/g", "-o", "rep"]).code(0);
    let report = names_in(&sandbox.path("rep")).remove(0);
    let text = fs::read_to_string(sandbox.path("rep").join(report)).expect("a report");
    let same = sandbox.prep(&["summarize", "rep"]).code(0);
    for (pointer, other, warning) in [
        (
            "/gold_threshold",
            json!(null),
            "these competitions have no leaderboard",
        ),
        (
            "/digests/rules",
            json!("sha256:0"),
            "graded with different rules or metrics",
        ),
        (
            "/digests/answers",
            json!("sha256:0"),
            "graded with different answers",
        ),
    ] {
        assert!(!same.stderr.contains(warning), "{}", same.stderr);
        let mut changed: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let entry = &mut changed["competition_reports"][0];
        *entry.pointer_mut(pointer).expect("a member") = other;
        sandbox.write(
            "rep/2026-01-01T00-00-00-GMT_grading_report.json",
            changed.to_string(),
        );
        let mixed = sandbox.prep(&["summarize", "rep"]).code(0);
        mixed.stderr_has(&[warning, "harbour"]);
    }
    fs::create_dir(sandbox.path("other")).expect("a directory");
    let report = "2026-01-01T00-00-00-GMT_grading_report.json";
    fs::rename(
        sandbox.path("rep").join(report),
        sandbox.path("other").join(report),
    )
    .expect("moved");
    let two = sandbox
        .prep(&["summarize", "mine=rep", "theirs=other"])
        .code(0);
    two.stderr_has(&[
        "the experiments were graded with different answers, rules or metrics",
        "harbour",
    ]);
}

#[test]
fn a_header_with_other_names_is_not_a_run_group() {
    let sandbox = Sandbox::new();
    sandbox.write("groups.csv", "experiment,group\na,b\n");
    let ended = sandbox.prep(&["summarize", "--groups", "groups.csv"]);
    ended
        .code(4)
        .stderr_has(&["groups.csv:1", "experiment_id,run_group"]);
}

#[test]
fn an_empty_list_and_a_link_to_nothing_are_named() {
    let sandbox = Harbour::prepared();
    sandbox.write("list.jsonl", "");
    let empty = sandbox.prep(&["grade", "list.jsonl", "-o", "rep"]);
    empty
        .code(0)
        .stderr_has(&["list.jsonl names no submission"]);
    symlink("nowhere.csv", sandbox.path("link.csv")).expect("a link");
    let dangling = sandbox.prep(&["validate", Harbour::ID, "link.csv"]);
    dangling.stderr_has(&["link.csv is a link, and its target does not exist"]);
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
