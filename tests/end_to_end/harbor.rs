//! Tests of competitions exported as Harbor tasks: tables, images and text.
//! `tests/check_harbor.py` reads such tasks with Harbor's own code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{CommandResult, Sandbox};

const IDS: [&str; 3] = [
    "spaceship-titanic",
    "aerial-cactus-identification",
    "random-acts-of-pizza",
];

/// Returns a sandbox with the demo's data and a grader's identity, and the grader's public key.
fn demo() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.prep(&["demo", "--output", "look"]).code(0);
    let key = sandbox.prep(&["seal", "--new-identity", "grader.txt"]);
    let key = key.code(0).stdout.trim().to_owned();
    (sandbox, key)
}

fn export(sandbox: &Sandbox, further: &[&str]) -> CommandResult {
    let arguments = ["export", "--layout", "harbor", "--data-dir", "look/data"];
    sandbox.prep(&[&arguments[..], &IDS, further].concat())
}

/// Returns the files below a directory, without the program that the verifier runs.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false if path.ends_with("tests/prep") => {}
            false => found.push(path),
        }
    }
    found
}

/// Runs a task's scripts without a container: the solution if `submission` is `None`, and after it the verifier.
/// Returns the verifier's exit code and the reward.
fn trial(
    sandbox: &Sandbox,
    id: &str,
    submission: Option<&str>,
    identity: Option<&str>,
) -> (Option<i32>, Option<Value>) {
    let task = sandbox.path("tasks").join(id);
    let (logs, home) = (sandbox.path("logs"), sandbox.path("agent"));
    let _ = fs::remove_dir_all(&logs);
    fs::create_dir_all(&logs).expect("a directory");
    fs::create_dir_all(&home).expect("a directory");
    let path = home.join("submission.csv");
    let text = fs::read_to_string(task.join("solution/solve.sh")).expect("a script");
    let copied = text.lines().last().expect("a line");
    let sample = copied.split(' ').nth(1).expect("a path");
    let sample = sample.strip_prefix("/home/data/").expect("a public file");
    let sample = fs::read(task.join("environment/public").join(sample)).expect("a sample");
    fs::write(
        &path,
        submission.map_or(sample, |text| text.as_bytes().to_vec()),
    )
    .expect("a file");
    let mut verifier = Command::new(task.join("tests/test.sh"));
    verifier
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TMPDIR", std::env::temp_dir())
        .env("VERIFIER_LOGS", &logs)
        .env("SUBMISSION", &path);
    if let Some(identity) = identity {
        verifier.env("PREP_IDENTITY", identity);
    }
    let output = verifier.output().expect("a process");
    let reward = fs::read(logs.join("reward.json")).ok();
    let reward = reward.map(|text| serde_json::from_slice(&text).expect("JSON"));
    (output.status.code(), reward)
}

#[test]
fn tasks_contain_no_answers_outside_of_the_verifier_and_can_be_graded() {
    let (sandbox, key) = demo();
    let tasks = export(&sandbox, &["-o", "tasks", "--for", &key, "--json"])
        .code(0)
        .json();
    let identity = fs::read_to_string(sandbox.path("grader.txt")).expect("an identity");
    for (id, task) in IDS
        .iter()
        .zip(tasks["competitions"].as_array().expect("tasks"))
    {
        assert_eq!((&task["id"], &task["sealed"]), (&json!(id), &json!(true)));
        let directory = sandbox.path("tasks").join(id);
        let private = sandbox.path("look/data").join(id).join("prepared/private");
        let mut searched = 0;
        for secret in files(&private) {
            let secret = fs::read(secret).expect("a private file");
            // The sample submission has the same header as the answers.
            let start = secret
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(0, |end| end + 1);
            let secret = &secret[start..];
            for file in files(&directory) {
                let bytes = fs::read(&file).expect("a file");
                let found = bytes.windows(secret.len()).any(|part| part == secret);
                assert!(!found, "{} contains answers", file.display());
                searched += 1;
            }
        }
        assert!(searched > 10, "{id}: {searched}");
        let machine = sandbox.path("");
        let machine = machine
            .to_str()
            .expect("UTF-8")
            .trim_end_matches('/')
            .as_bytes();
        for file in files(&directory) {
            let bytes = fs::read(&file).expect("a file");
            let found = bytes.windows(machine.len()).any(|part| part == machine);
            assert!(!found, "{} contains a path of this machine", file.display());
        }
        let (code, reward) = trial(&sandbox, id, None, Some(&identity));
        let reward = reward.expect("a reward");
        assert_eq!(
            (code, &reward["valid"]),
            (Some(0), &json!(1)),
            "{id}: {reward}"
        );
        let value = reward["reward"].as_f64().expect("a number");
        assert!(
            (0.0..=1.0).contains(&value) && reward["score"].is_number(),
            "{id}: {reward}"
        );
        let (code, reward) = trial(&sandbox, id, Some("id\n1\n"), Some(&identity));
        let reward = reward.expect("a reward");
        assert_eq!(
            (code, &reward["reward"]),
            (Some(0), &json!(0.0)),
            "{id}: {reward}"
        );
        // A failed verifier gives no reward, which differs from a reward of 0.
        assert_eq!(trial(&sandbox, id, None, None), (Some(1), None), "{id}");
        let config = fs::read_to_string(directory.join("task.toml")).expect("a file");
        let digest = sandbox.prep(&["digest", id, "--json", "--data-dir", "look/data"]);
        let digest = digest.code(0).competition()["digest"]
            .as_str()
            .expect("a digest")
            .to_owned();
        assert!(
            config.contains(&format!("digest = \"sha256:{digest}\"")),
            "{config}"
        );
    }
    let dataset = fs::read_to_string(sandbox.path("tasks/dataset.toml")).expect("a file");
    assert_eq!(dataset.matches("[[tasks]]").count(), IDS.len());
    export(&sandbox, &["-o", "tasks"])
        .code(2)
        .stderr_has(&["already exists"]);
}

#[test]
fn a_copy_of_the_answers_earns_nothing_and_the_best_score_earns_most() {
    let (sandbox, _) = demo();
    let ended = export(&sandbox, &["-o", "tasks", "--mount-public"]).code(0);
    ended.stderr_has(&["in `tests` are not encrypted"]);
    let task = sandbox.path("tasks/spaceship-titanic");
    assert!(!task.join("environment/public").exists());
    let compose = fs::read_to_string(task.join("environment/docker-compose.yaml")).expect("a file");
    assert!(compose.contains(":/home/data:ro"), "{compose}");
    let (sample, answers) = ("sample_submission.csv", "private/test.csv");
    let place = sandbox.path("look/data/spaceship-titanic/prepared");
    fs::create_dir_all(task.join("environment/public")).expect("a directory");
    let target = task.join("environment/public").join(sample);
    fs::copy(place.join("public").join(sample), target).expect("a copy");
    let answers = fs::read_to_string(place.join(answers)).expect("answers");
    let (_, copy) = trial(&sandbox, "spaceship-titanic", Some(&answers), None);
    assert_eq!(copy.expect("a reward")["reward"], json!(0.0));
    // The best predictions in another order are not a copy.
    let (header, rows) = answers.split_once('\n').expect("a header");
    let rows: Vec<&str> = rows.lines().rev().collect();
    let reversed = format!("{header}\n{}\n", rows.join("\n"));
    let (_, best) = trial(&sandbox, "spaceship-titanic", Some(&reversed), None);
    let best = best.expect("a reward");
    assert_eq!((&best["medal"], &best["score"]), (&json!(3), &json!(1.0)));
    assert!(best["reward"].as_f64().expect("a number") > 0.99, "{best}");
}

/// Options of other layouts are errors.
#[test]
fn layouts_have_their_own_options() {
    let (sandbox, key) = demo();
    let data = [
        "export",
        "spaceship-titanic",
        "--data-dir",
        "look/data",
        "-o",
        "copy",
    ];
    sandbox
        .prep(&[&data[..], &["--for", &key]].concat())
        .code(2);
    sandbox
        .prep(&[&data[..], &["AI4Code"]].concat())
        .code(2)
        .stderr_has(&["one competition"]);
    sandbox.prep(&data).code(0);
}
