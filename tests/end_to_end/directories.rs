//! Tests of data directories that share a cache. A directory's own record states its bundle, verdicts, times, history and
//! options. The latest records of the cache have no effect.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{CommandResult, Harbour, Sandbox, hex_md5};

const CHECKSUMS: &str = "pipelines/harbour/checksums.json";

/// Two data directories, each with the directory of the bundle from which it is prepared, and the decimals of the
/// column `tons` in this bundle.
const DIRECTORIES: [(&str, &str, &str); 2] = [("mine", "a", ".5"), ("theirs", "b", ".25")];

fn table(ending: &str) -> String {
    Harbour::table().replace(".5,", &format!("{ending},"))
}

/// Runs a verb for the competition without a bundle, because the directory `none` is empty.
fn call(sandbox: &Sandbox, directory: &str, words: &[&str]) -> CommandResult {
    let rest = ["--source", "none", "--data-dir", directory];
    sandbox.prep(&[words, &rest].concat())
}

fn prepare(sandbox: &Sandbox, directory: &str, bundle: &str, more: &[&str]) -> CommandResult {
    let run = ["run", Harbour::ID, "--json", "--no-download"];
    let rest = ["--source", bundle, "--data-dir", directory];
    sandbox.prep(&[&run, &rest, more].concat())
}

fn file(sandbox: &Sandbox, directory: &str, path: &str) -> PathBuf {
    let prepared = sandbox.path(directory).join(Harbour::ID).join("prepared");
    prepared.join(path)
}

fn text(sandbox: &Sandbox, directory: &str) -> String {
    fs::read_to_string(file(sandbox, directory, "public/train.csv")).expect("a table")
}

fn world() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.pipeline(Harbour::ID, Harbour::PIPELINE);
    for (_, bundle, ending) in DIRECTORIES {
        let path = format!("{bundle}/{}.zip", Harbour::ID);
        sandbox.write(&path, Harbour::bundle(&table(ending)));
    }
    fs::create_dir(sandbox.path("none")).expect("directory");
    sandbox
}

/// Returns the steps that run or may run.
fn planned(competition: &Value) -> Vec<&str> {
    let steps = competition["steps"].as_array().expect("steps").iter();
    let steps = steps.filter(|step| step["runs"] != "no");
    steps
        .map(|step| step["step"].as_str().expect("a name"))
        .collect()
}

#[test]
fn each_verb_shows_only_its_own_directory() {
    for order in [[0, 1], [1, 0]] {
        let sandbox = world();
        for at in order {
            let (directory, bundle, _) = DIRECTORIES[at];
            prepare(&sandbox, directory, bundle, &[]).code(0);
        }
        for (directory, _, ending) in DIRECTORIES {
            let before = text(&sandbox, directory);
            assert!(
                before.contains(&format!("{ending},")),
                "{directory}: {before}"
            );
            let run = call(&sandbox, directory, &["run", Harbour::ID, "--json"]);
            let run = run.code(0).competition();
            assert_eq!(
                (&run["state"], &run["borrowed"]),
                (&json!("up_to_date"), &Value::Null)
            );
            assert_eq!(text(&sandbox, directory), before);
            for verb in ["plan", "why"] {
                let shown = call(&sandbox, directory, &[verb, Harbour::ID, "--json"]);
                let shown = shown.code(0).competition();
                assert_eq!(planned(&shown), [""; 0], "{verb} {directory}");
            }
            let state = sandbox.prep(&["list", Harbour::ID, "--json", "--data-dir", directory]);
            let state = state.code(0).competition()["state"].clone();
            assert_eq!(state, "prepared v1 (own pipeline)");
            let rows = ["pipeline", "show", Harbour::ID, "labelled"];
            call(&sandbox, directory, &rows)
                .code(0)
                .stdout_has(&[ending]);
            // A publication in the other directory is not a publication of this directory.
            let runs = ["diff", Harbour::ID, "@1", "@0", "--data-dir", directory];
            sandbox
                .prep(&runs)
                .code(4)
                .stderr_has(&["there is no publication @1"]);
            call(&sandbox, directory, &["leaks", Harbour::ID]).code(0);
            let doctor = ["doctor", Harbour::ID, "--offline", "--data-dir", directory];
            sandbox.prep(&doctor).stdout_has(&["no bundle is missing"]);
            let export = ["export", Harbour::ID, "--data-dir", directory];
            let copy = format!("{directory}-copy");
            sandbox
                .prep(&[&export[..], &["-o", &copy]].concat())
                .code(0);
            assert_eq!(text(&sandbox, &copy), before);
            fs::create_dir_all(sandbox.path("remote")).expect("directory");
            let remote = format!("file://{}", sandbox.path("remote").display());
            let _ = sandbox.prep(&["remote", "key", "new", "own"]);
            let push = ["remote", "push", Harbour::ID, "--json", "--remote", &remote];
            let pushed = call(&sandbox, directory, &push).code(0).competition();
            assert_eq!(pushed["not_here"], Value::Null, "{pushed}");
        }
        let changed = Harbour::PIPELINE.replace("0 AS docked", "1 AS docked");
        sandbox.pipeline(Harbour::ID, &changed);
        for (directory, ..) in DIRECTORIES {
            let why = call(&sandbox, directory, &["why", Harbour::ID, "--json"]);
            let why = why.code(0).competition();
            let steps = why["steps"].as_array().expect("steps").iter();
            let changes = steps.map(|step| &step["reason"]["changes"]);
            let changes: Vec<&Value> = changes.filter(|changes| changes.is_array()).collect();
            assert_eq!(changes.len(), 1, "{directory}: {why}");
            assert_eq!(changes[0][0]["field"], "params.sql", "{directory}: {why}");
        }
    }
}

/// A directory that was never prepared from a bundle has no results, even if the cache has results of other directories.
#[test]
fn cached_results_of_another_directory_are_used_on_request_only() {
    for order in [[0, 1], [1, 0]] {
        let sandbox = world();
        for at in order {
            let (directory, bundle, _) = DIRECTORIES[at];
            prepare(&sandbox, directory, bundle, &[]).code(0);
        }
        let run = ["run", Harbour::ID, "--json", "--no-download"];
        let ended = call(&sandbox, "new", &run).code(4);
        ended.stderr_has(&[
            "no bundle",
            "--from-cache",
            "put bundles and other source files into ",
        ]);
        assert!(!file(&sandbox, "new", "").exists());
        let plan = call(&sandbox, "new", &["plan", Harbour::ID, "--no-download"]);
        plan.code(0).stdout_has(&["the bundle is missing"]);
        let rows = ["pipeline", "show", Harbour::ID, "labelled"];
        call(&sandbox, "new", &rows)
            .code(4)
            .stderr_has(&["--from-cache"]);
        let doctor = ["doctor", Harbour::ID, "--offline", "--data-dir", "new"];
        let doctor = sandbox.prep(&doctor).stdout;
        assert!(!doctor.contains("no bundle is missing"), "{doctor}");

        let (_, bundle, ending) = DIRECTORIES[order[1]];
        let path = sandbox.path(bundle).join("harbour.zip");
        let ended = call(&sandbox, "new", &[&run[..], &["--from-cache"]].concat()).code(0);
        let ended = ended.stderr_has(&[
            "there is no bundle on this machine",
            "in the cache since",
            bundle,
        ]);
        let borrowed = ended.competition()["borrowed"].clone();
        assert_eq!(borrowed["from"], "cache");
        assert_eq!(
            borrowed["path"],
            path.canonicalize().unwrap().display().to_string()
        );
        assert!(borrowed["at"].is_u64() && borrowed["blake3"].is_string());
        assert!(text(&sandbox, "new").contains(&format!("{ending},")));
        let again = call(&sandbox, "new", &run).code(0).competition();
        assert_eq!(again["state"], "up_to_date");
        assert_eq!(again["borrowed"], Value::Null);
        for (directory, _, ending) in DIRECTORIES {
            let again = call(&sandbox, directory, &run).code(0).competition();
            assert_eq!(again["state"], "up_to_date");
            assert!(text(&sandbox, directory).contains(&format!("{ending},")));
        }
    }
}

/// A directory does not inherit the history of a deleted directory with the same path.
#[test]
fn a_replaced_directory_has_no_history_of_its_predecessor() {
    let sandbox = world();
    for (directory, bundle, _) in DIRECTORIES {
        prepare(&sandbox, directory, bundle, &[]).code(0);
    }
    fs::rename(sandbox.path("mine"), sandbox.path("away")).expect("renamed");
    fs::rename(sandbox.path("theirs"), sandbox.path("mine")).expect("renamed");
    let changed = Harbour::PIPELINE.replace("0 AS docked", "1 AS docked");
    sandbox.pipeline(Harbour::ID, &changed);
    let why = call(&sandbox, "mine", &["why", Harbour::ID]).code(0).stdout;
    assert!(!why.contains("input"), "{why}");
    let run = call(&sandbox, "mine", &["run", Harbour::ID, "--json"]);
    assert_eq!(run.code(0).competition()["state"], "prepared");
    assert!(text(&sandbox, "mine").contains(".25,"));
}

/// Verdicts about published checksums belong to one directory, and the report shows only these verdicts.
#[test]
fn verdicts_of_another_directory_are_not_shown() {
    let sandbox = world();
    prepare(&sandbox, "mine", "a", &[]).code(0);
    let sum = |path: &str| hex_md5(&fs::read(file(&sandbox, "mine", path)).expect("a file"));
    let sums = json!({
        "public": { "train.csv": sum("public/train.csv"), "test.csv": sum("public/test.csv") },
        "private": { "test.csv": sum("private/test.csv") },
    });
    sandbox.write(CHECKSUMS, sums.to_string());
    fs::remove_dir_all(sandbox.path("mine")).expect("removed");
    let page = |directory: &str| {
        let report = [
            "report",
            Harbour::ID,
            "-o",
            "r.html",
            "--data-dir",
            directory,
        ];
        sandbox.prep(&report).code(0);
        fs::read_to_string(sandbox.path("r.html")).expect("a page")
    };
    for order in [[0, 1], [1, 0]] {
        for at in order {
            match at {
                0 => prepare(&sandbox, "mine", "a", &[]).code(0),
                _ => prepare(&sandbox, "theirs", "b", &["--skip-verification"]).code(0),
            };
        }
        let (mine, theirs) = (page("mine"), page("theirs"));
        assert!(mine.contains("as published") && !mine.contains("not compared"));
        assert!(theirs.contains("not compared") && !theirs.contains("as published"));
        let copy = sandbox.path("copy");
        let copied = std::process::Command::new("cp")
            .args(["-a", "mine", "copy"])
            .current_dir(sandbox.path(""))
            .status();
        assert!(copied.expect("cp").success());
        assert!(page("copy").contains("as published"));
        fs::remove_dir_all(copy).expect("removed");
        for directory in ["mine", "theirs"] {
            fs::remove_dir_all(sandbox.path(directory)).expect("removed");
        }
    }
}

/// `--available` leaves out competitions without a bundle, even if the cache knows these competitions.
#[test]
fn available_leaves_out_competitions_without_a_bundle() {
    let sandbox = world();
    prepare(&sandbox, "mine", "a", &[]).code(0);
    sandbox.pipeline("canal", Harbour::PIPELINE);
    sandbox.write("c/canal.zip", Harbour::bundle(&table(".5")));
    let run = [
        "run",
        Harbour::ID,
        "canal",
        "--available",
        "--json",
        "--source",
        "c",
    ];
    let ended = sandbox
        .prep(&[&run[..], &["--data-dir", "new"]].concat())
        .code(0);
    let ended = ended
        .stderr_has(&["1 competition left out because a bundle or source is missing: harbour"]);
    assert!(!ended.stderr.contains("failed"), "{}", ended.stderr);
    let report = ended.json();
    assert_eq!(report["left_out"], json!([Harbour::ID]));
    assert_eq!(report["competitions"].as_array().map(Vec::len), Some(1));
    assert_eq!(report["competitions"][0]["state"], "prepared");
    // The results of the prepared directory are usable, so its competition is available.
    let ended = sandbox
        .prep(&[&run[..], &["--data-dir", "mine"]].concat())
        .code(0);
    assert_eq!(ended.json()["left_out"], json!([]));
    let all = [
        "run",
        "--all",
        "--available",
        "--source",
        "c",
        "--data-dir",
        "third",
        "--json",
    ];
    let report = sandbox.prep(&all).code(0).json();
    assert_eq!(report["left_out"].as_array().map(Vec::len), Some(83));
    assert_eq!(report["competitions"][0]["id"], "canal");
    // Without objects in the cache, the missing file needs the bundle, so the competition is not available.
    fs::remove_dir_all(sandbox.path("store/objects-v1")).expect("removed");
    fs::remove_file(file(&sandbox, "mine", "public/train.csv")).expect("removed");
    let ended = sandbox
        .prep(&[&run[..], &["--data-dir", "mine"]].concat())
        .code(0);
    assert_eq!(
        ended.json()["left_out"],
        json!([Harbour::ID]),
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("failed"), "{}", ended.stderr);
}

/// Audits a directory. Returns whether the audit read unpublished outputs, and its proof about `public/train.csv`.
fn audited(sandbox: &Sandbox, directory: &str, more: &[&str]) -> (Value, String) {
    let audit = ["audit", Harbour::ID, "--json", "--data-dir", directory];
    let outputs = sandbox.prep(&[&audit, more].concat()).code(5).competition()["outputs"].clone();
    let proof = outputs["report"]["blocks"][0]["proof"].to_string();
    (outputs["is_unpublished"].clone(), proof)
}

/// A later run that fails in another directory does not change what an audit compares.
#[test]
fn an_audit_compares_the_outputs_of_its_directory() {
    let sandbox = world();
    let sums = json!({ "public": { "train.csv": "0".repeat(32) }, "private": {} });
    sandbox.write(CHECKSUMS, sums.to_string());
    for directory in ["failed", "mine"] {
        prepare(&sandbox, directory, "a", &[]).code(5);
    }
    prepare(&sandbox, "mine", "a", &["--skip-verification"]).code(0);
    prepare(&sandbox, "theirs", "b", &[]).code(5);
    let md5 = hex_md5(text(&sandbox, "mine").as_bytes());
    for (directory, more, is_unpublished) in [
        ("mine", &["--source", "b"][..], false),
        ("mine", &[], false),
        ("failed", &["--source", "b"], true),
        ("failed", &[], true),
    ] {
        let (found, proof) = audited(&sandbox, directory, more);
        assert_eq!(found, is_unpublished, "{directory} {more:?}");
        assert!(proof.contains(&md5), "{directory} {more:?}: {proof}");
    }
    let (found, proof) = audited(&sandbox, "theirs", &[]);
    assert!(found == true && !proof.contains(&md5), "{proof}");
    // The failed run's bundle was replaced, so its outputs are unknown.
    fs::copy(sandbox.path("b/harbour.zip"), sandbox.path("a/harbour.zip")).expect("a copy");
    prepare(&sandbox, "new", "a", &[]).code(5);
    let audit = ["audit", Harbour::ID, "--json", "--data-dir", "failed"];
    assert_eq!(
        sandbox.prep(&audit).code(0).competition()["outputs"],
        Value::Null
    );
}

/// The directory `mine` was prepared from another bundle than `--source b` contains. The cache has the results of both
/// bundles, so no step has to run, but the messages must still name the different bundle.
#[test]
fn a_different_bundle_is_named() {
    let sandbox = world();
    for (directory, bundle, _) in DIRECTORIES {
        prepare(&sandbox, directory, bundle, &[]).code(0);
    }
    let note =
        "b/harbour.zip is not the bundle from which the data were prepared (that bundle has ";
    for verb in ["plan", "why"] {
        let line = [verb, Harbour::ID, "--source", "b", "--data-dir", "mine"];
        sandbox.prep(&line).code(0).stderr_has(&[note]);
        let line = [verb, Harbour::ID, "--data-dir", "mine"];
        assert!(
            !sandbox
                .prep(&line)
                .code(0)
                .stderr
                .contains("is not the bundle")
        );
    }
    prepare(&sandbox, "mine", "b", &[])
        .code(0)
        .stderr_has(&[note]);
    assert!(
        !prepare(&sandbox, "mine", "b", &[])
            .code(0)
            .stderr
            .contains(note)
    );
    let why = ["why", Harbour::ID, "private/test.csv", "--data-dir"];
    prepare(&sandbox, "new", "b", &[]).code(0);
    let found = sandbox.prep(&[&why[..], &["new"]].concat()).code(0);
    found.stdout_has(&["it never ran for this data directory"]);
}

#[test]
fn an_unreadable_competition_does_not_stop_the_others() {
    let sandbox = Sandbox::new();
    let ids = ["one", "two"];
    for id in ids {
        sandbox.pipeline(
            id,
            &Harbour::PIPELINE.replace("kaggle: harbour", &format!("kaggle: {id}")),
        );
        sandbox.bundle(id, &Harbour::bundle(&Harbour::table()));
    }
    sandbox.run_all(&ids).code(0);
    let manifest = sandbox.data().join("one/prepared.json");
    fs::remove_file(&manifest).expect("removed");
    fs::create_dir(&manifest).expect("a directory");
    fs::remove_dir_all(sandbox.prepared("two")).expect("removed");
    let run = sandbox.run_all(&ids).code(6);
    let summary = run.json();
    let states = summary["competitions"].as_array().expect("a list");
    let state = |id: &str| states.iter().find(|one| one["id"] == id).expect(id)["state"].clone();
    assert_eq!(
        (state("one"), state("two")),
        (json!("failed"), json!("prepared"))
    );
    let doctor = sandbox.prep(&["doctor", "--offline"]);
    doctor.stdout_has(&["one: cannot read", "prepared.json", "memory"]);
    sandbox.prep(&["report", "-o", "page.html"]).code(0);
    let page = fs::read_to_string(sandbox.path("page.html")).expect("a page");
    assert!(page.contains("cannot read") && page.contains("two"));
}
