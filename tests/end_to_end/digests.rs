//! Tests of the digests of data, rules and leaderboards, of the lockfile, and of the log of gradings.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::support::{CommandResult, Harbour, Sandbox};

const SAMPLE: &str = "data/harbour/prepared/public/sample_submission.csv";

fn digest(sandbox: &Sandbox) -> serde_json::Value {
    let found = sandbox.prep(&["digest", Harbour::ID, "--json"]).code(0);
    found.json()["competitions"][0].clone()
}

fn shell_digest(sandbox: &Sandbox, section: &str) -> String {
    let line = "find . -type f -exec sha256sum {} + | LC_ALL=C sort -k 2 | sha256sum";
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide.md");
    let guide = fs::read_to_string(guide).expect("guide");
    assert!(guide.contains(line), "the guide does not show the line");
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(sandbox.prepared(Harbour::ID).join(section))
        .output()
        .expect("sh");
    let text = String::from_utf8(output.stdout).expect("text");
    text.split(' ').next().expect("a digest").to_owned()
}

#[test]
fn digests_equal_those_of_the_documented_shell_command() {
    let sandbox = Harbour::prepared();
    let found = digest(&sandbox);
    assert_eq!(found["public"]["sha256"], shell_digest(&sandbox, "public"));
    assert_eq!(
        found["answers"]["sha256"],
        shell_digest(&sandbox, "private")
    );
    let home = sandbox.data().join(Harbour::ID);
    for name in ["prepared.json", "prepared.files"] {
        fs::remove_file(home.join(name)).expect("removed");
    }
    assert_eq!(digest(&sandbox), found);
}

#[test]
fn digests_of_changed_data_have_a_warning() {
    let sandbox = Harbour::prepared();
    let prepared = sandbox.prepared(Harbour::ID);
    assert!(digest(&sandbox)["difference"].is_null());
    for path in ["public/train.csv", "private/test.csv"] {
        let (path, file) = (path, prepared.join(path));
        let text = fs::read(&file).expect("a file");
        fs::write(&file, [&text[..], b"\n"].concat()).expect("a write");
        let ended = sandbox.prep(&["digest", Harbour::ID]).code(0);
        let what = format!("published data: changed or missing: {path}");
        ended.stderr_has(&[
            "the digest of `harbour` is not that of",
            &what,
            "`prep run harbour`",
        ]);
        let difference = digest(&sandbox)["difference"].to_string();
        assert!(difference.contains(path), "{difference}");
        fs::write(&file, text).expect("a write");
        assert!(digest(&sandbox)["difference"].is_null());
    }
}

#[test]
fn digests_depend_only_on_content() {
    let one = Harbour::prepared();
    let other = Sandbox::new();
    Harbour::install(&other);
    let mut command = other.run_command(&[Harbour::ID]);
    CommandResult::of(command.args(["--jobs", "1", "--memory", "64MB"])).code(0);
    assert_eq!(digest(&one), digest(&other));
    let lock =
        |sandbox: &Sandbox| fs::read_to_string(sandbox.data().join("prep.lock")).expect("lock");
    assert_eq!(lock(&one), lock(&other));
    // The digest does not depend on the order in which the file system lists files, or on records of published files.
    if let Ok(memory) = tempfile::tempdir_in("/dev/shm") {
        let data = memory.path().to_str().expect("a path");
        let mut command = one.run_command(&[Harbour::ID]);
        CommandResult::of(command.args(["--data-dir", data])).code(0);
        let prepared = memory.path().join(Harbour::ID);
        for name in ["prepared.json", "prepared.files"] {
            fs::remove_file(prepared.join(name)).expect("removed");
        }
        let arguments = ["digest", Harbour::ID, "--json", "--data-dir", data];
        let found = one.prep(&arguments).code(0).json();
        assert_eq!(found["competitions"][0], digest(&other));
    }
    // A different leaderboard changes only its own digest and the total.
    let before = digest(&one);
    one.write("pipelines/harbour/leaderboard.csv", "score\n0.9\n0.1\n");
    let after = digest(&one);
    assert_eq!(before["public"], after["public"]);
    assert_eq!(before["rules"], after["rules"]);
    assert_ne!(before["leaderboard"], after["leaderboard"]);
    assert_ne!(before["digest"], after["digest"]);
}

#[test]
fn digests_after_a_second_publication_equal_those_of_the_shell_command() {
    let sandbox = Harbour::prepared();
    let text = Harbour::PIPELINE.replace("0 AS docked", "1 AS docked");
    assert_ne!(text, Harbour::PIPELINE);
    sandbox.pipeline(Harbour::ID, &text);
    sandbox.run_and_count_steps(Harbour::ID);
    assert_eq!(
        digest(&sandbox)["public"]["sha256"],
        shell_digest(&sandbox, "public")
    );
}

#[test]
fn locked_run_publishes_only_data_that_match_the_lock() {
    let sandbox = Harbour::prepared();
    let locked = || CommandResult::of(sandbox.run_command(&[Harbour::ID]).arg("--locked"));
    locked().code(0);
    let lock = sandbox.data().join("prep.lock");
    // The lockfile may be a link, for example into a repository.
    fs::rename(&lock, sandbox.path("repository.lock")).expect("moved");
    symlink("../repository.lock", &lock).expect("link");
    let before = fs::read_to_string(&lock).expect("lock");
    // The locked run also works without prepared data.
    fs::remove_dir_all(sandbox.data().join(Harbour::ID)).expect("removed");
    locked().code(0);
    let tree = sandbox.tree(Harbour::ID);
    // A changed constant in the pipeline prevents the publication.
    let text = Harbour::PIPELINE.replace("0 AS docked", "1 AS docked");
    sandbox.pipeline(Harbour::ID, &text);
    let ended = locked().code(5);
    ended.stderr_has(&["differs from the lockfile", "public: sha256:"]);
    assert_eq!(sandbox.tree(Harbour::ID).contents(), tree.contents());
    fs::remove_dir_all(sandbox.data().join(Harbour::ID)).expect("removed");
    locked().code(5);
    assert!(!sandbox.prepared(Harbour::ID).exists());
    assert_eq!(fs::read_to_string(&lock).expect("lock"), before);
    sandbox.run_and_count_steps(Harbour::ID);
    assert_ne!(fs::read_to_string(&lock).expect("lock"), before);
    assert!(lock.is_symlink());
    locked().code(0);
    // These are also errors: a changed leaderboard, and a lockfile without an entry for the competition.
    sandbox.write("pipelines/harbour/leaderboard.csv", "score\n0.9\n0.1\n");
    locked().code(5).stderr_has(&["leaderboard: sha256:"]);
    fs::write(&lock, "version 1\n").expect("lock");
    locked()
        .code(5)
        .stderr_has(&["prep.lock has no entry for `harbour`"]);
    fs::write(&lock, "version 9\n").expect("lock");
    locked().code(4).stderr_has(&["a newer prep is needed"]);
}

#[test]
fn gradings_are_logged_unless_turned_off() {
    let sandbox = Harbour::prepared();
    let log = sandbox.data().join("grades.jsonl");
    let grade = ["grade", Harbour::ID, SAMPLE, "--json"];
    let off = ["grade", Harbour::ID, SAMPLE, "--no-log"];
    sandbox.prep(&off).code(0);
    assert!(!log.exists());
    let report = sandbox.prep(&grade).code(0).competition();
    sandbox.write("half.csv", "id,docked\n1,0\n");
    sandbox.prep(&["grade", Harbour::ID, "half.csv"]).code(1);
    sandbox.write(
        "list.jsonl",
        format!("{{\"competition_id\": \"harbour\", \"submission_path\": \"{SAMPLE}\"}}\n")
            .repeat(3),
    );
    let list = ["grade", "list.jsonl", "--output", "reports"];
    sandbox.prep(&list).code(0);
    let text = fs::read_to_string(&log).expect("log");
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[0]["score"], report["score"]);
    assert_eq!(lines[0]["submission"], report["digests"]["submission"]);
    assert!(lines[1]["score"].is_null());
    assert!(
        lines[1]["reason"]
            .as_str()
            .expect("a reason")
            .contains("9 too few")
    );
    let found = digest(&sandbox);
    let all = format!("sha256:{}", found["digest"].as_str().expect("a digest"));
    assert_eq!(report["digests"]["all"], all);
    fs::remove_file(&log).expect("removed");
    fs::create_dir(&log).expect("directory");
    sandbox
        .prep(&grade)
        .code(0)
        .stderr_has(&["warning: cannot log the grading"]);
}

/// The id of a competition is a word in `prep.lock` and a directory of the data directory.
#[test]
fn names_that_do_not_fit_into_the_data_directory_are_no_ids() {
    let sandbox = Harbour::prepared();
    for id in ["my harbour", "#harbour", "fixed", "prep.lock"] {
        sandbox.pipeline(id, Harbour::PIPELINE);
        sandbox
            .prep(&["run", id, "--source", "."])
            .code(2)
            .stderr_has(&[
                &format!("`{id}` is not the id of a competition"),
                "rename the directory",
            ]);
    }
    assert_eq!(sandbox.run_and_count_steps(Harbour::ID), 0);
}
