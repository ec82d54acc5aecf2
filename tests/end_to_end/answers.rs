//! Tests of grading: `prep` verifies answers, and several graders may write reports into one directory.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{CommandResult, Harbour, Sandbox, names_in};

/// Returns a sandbox with a prepared competition, and with a submission that has the correct answers.
fn prepared() -> Sandbox {
    let sandbox = Harbour::prepared();
    let answers = sandbox.prepared(Harbour::ID).join("private/test.csv");
    let gold = fs::read(answers).expect("the answers");
    sandbox.write("gold.csv", gold);
    sandbox
}

fn score(sandbox: &Sandbox) -> CommandResult {
    sandbox.prep(&["grade", Harbour::ID, "gold.csv", "-q", "--json"])
}

/// The modified file keeps its size and time, so only its content shows the change.
#[test]
fn answers_modified_in_place_are_detected_and_restored() {
    let sandbox = prepared();
    assert_eq!(score(&sandbox).code(0).competition()["score"], 1.0);
    let before = sandbox.tree(Harbour::ID);
    let before = before.contents();
    let path = sandbox.prepared(Harbour::ID).join("private/test.csv");
    let metadata = fs::metadata(&path).expect("the answers");
    let flipped: String = fs::read_to_string(&path)
        .expect("the answers")
        .chars()
        .map(|c| match c {
            '0' => '1',
            '1' => '0',
            c => c,
        })
        .collect();
    // Modifies the file in place. Its owner can do so although the file is read-only.
    let mut writable = metadata.permissions();
    writable.set_mode(0o644);
    fs::set_permissions(&path, writable).expect("the mode");
    fs::write(&path, flipped).expect("the answers");
    fs::set_permissions(&path, metadata.permissions()).expect("the mode");
    let file = File::options().read(true).open(&path).expect("the answers");
    file.set_modified(metadata.modified().expect("a time"))
        .expect("the time");
    assert_eq!(
        fs::metadata(&path).expect("the answers").len(),
        metadata.len()
    );

    let help = format!("run `prep run {}`", Harbour::ID);
    score(&sandbox).code(4).stderr_has(&[
        "changed after they were prepared",
        "private/test.csv",
        &help,
    ]);
    assert_eq!(sandbox.state(Harbour::ID), "changed since prepared");
    sandbox.run(Harbour::ID).code(0);
    assert_eq!(sandbox.tree(Harbour::ID).contents(), before);
    assert_eq!(score(&sandbox).code(0).competition()["score"], 1.0);
}

#[test]
fn graders_in_one_directory_write_separate_reports() {
    let sandbox = prepared();
    let line = format!(
        "{{\"competition_id\": \"{}\", \"submission_path\": \"gold.csv\"}}\n",
        Harbour::ID
    );
    sandbox.write("list.jsonl", line);
    let arguments = ["grade", "list.jsonl", "--output", "reports"];
    let running: Vec<_> = (0..6)
        .map(|_| sandbox.command(&arguments).spawn().expect("the program"))
        .collect();
    let mut reported: Vec<String> = Vec::new();
    for one in running {
        let ended = CommandResult::from(one.wait_with_output().expect("its end")).code(0);
        let path = ended
            .stderr
            .split("report: reports/")
            .nth(1)
            .expect("a path");
        reported.push(path.trim().to_owned());
    }
    reported.sort();
    assert_eq!(names_in(&sandbox.path("reports")), reported);
    reported.dedup();
    assert_eq!(reported.len(), 6);
}

#[test]
fn unwritable_report_is_a_system_error() {
    let sandbox = prepared();
    sandbox.write("list.jsonl", "");
    sandbox.write("reports", "a file");
    let arguments = ["grade", "list.jsonl", "--output", "reports"];
    sandbox.prep(&arguments).code(6).stderr_has(&["reports"]);
}

#[test]
fn thresholds_are_shown_for_an_unprepared_competition() {
    let sandbox = Sandbox::new();
    let report = sandbox
        .prep(&["grade", "spaceship-titanic", "--json"])
        .code(0)
        .competition();
    assert!(report["gold_threshold"].is_f64(), "{report}");
    sandbox.write("s.csv", "a\n1\n");
    sandbox
        .prep(&["grade", "spaceship-titanic", "s.csv"])
        .code(4)
        .stderr_has(&["is not prepared"]);
}

/// The grader reads the old manifest and the new answers. It must not report that the answers were modified.
#[test]
fn a_publication_during_grading_is_not_a_modification() {
    let sandbox = prepared();
    let answers = sandbox.prepared(Harbour::ID).join("private/test.csv");
    fs::remove_file(&answers).expect("removed");
    let made = Command::new("mkfifo").arg(&answers).status();
    assert!(made.expect("mkfifo").success());
    let mut grade = sandbox.command(&["grade", Harbour::ID, "gold.csv", "-q", "--json"]);
    let grade = grade.spawn().expect("prep");
    // Waits until the grader opens the answers. It has then read the manifest.
    let mut pipe = File::options().write(true).open(&answers).expect("a pipe");
    let private = "SELECT id, docked FROM test";
    let changed =
        Harbour::PIPELINE.replace(private, "SELECT id, docked || '1' AS docked FROM test");
    sandbox.pipeline(Harbour::ID, &changed);
    sandbox.run_and_count_steps(Harbour::ID);
    let new = fs::read(&answers).expect("answers");
    pipe.write_all(&new).expect("written");
    drop(pipe);
    let ended = grade.wait_with_output().expect("prep");
    let shown = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{shown}");
    assert_ne!(new, fs::read(sandbox.path("gold.csv")).expect("gold"));
}
