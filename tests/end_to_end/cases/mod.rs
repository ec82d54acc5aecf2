//! Tests recorded cases. `tests/cases/ID/NAME` contains a bundle, submissions, and upstream's files and scores.
//! The cases of the pack `packs/PACK` are in `tests/cases/PACK`.
//!
//! One command prepares all cases of the same name, and a second command grades all their submissions.

mod compare;
mod expected;
mod parquet;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::Sandbox;
use expected::Expected;

struct Case {
    id: String,
    directory: PathBuf,
    expected: Expected,
}

fn cases(pack: Option<&str>, name: &str) -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let root = pack.map_or(root.clone(), |pack| root.join(pack));
    let prefix = pack.map_or(String::new(), |pack| format!("{pack}/"));
    let mut cases: Vec<Case> = fs::read_dir(root)
        .expect("tests/cases")
        .map(|entry| entry.expect("entry").path())
        .filter(|directory| directory.join(name).is_dir())
        .map(|directory| Case {
            id: {
                let id = directory.file_name().expect("a name").to_string_lossy();
                format!("{prefix}{id}")
            },
            expected: Expected::read(&directory.join(name).join("expected.json")),
            directory: directory.join(name),
        })
        .collect();
    cases.sort_by(|a, b| a.id.cmp(&b.id));
    assert!(cases.len() > 12, "{} cases of name {name}", cases.len());
    cases
}

fn check(pack: Option<&str>, name: &str) {
    let cases = cases(pack, name);
    let sandbox = Sandbox::new();
    if let Some(pack) = pack {
        let packs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs");
        let path = packs.join(pack);
        let path = path.to_str().expect("a text");
        sandbox.prep(&["pack", "add", path]).code(0);
    }
    for case in &cases {
        let (_, id) = case.id.rsplit_once('/').unwrap_or(("", &case.id));
        let bundle = sandbox.source().join(format!("{id}.zip"));
        std::os::unix::fs::symlink(case.directory.join("raw.zip"), bundle).expect("link");
    }
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let run = sandbox.run_all(&ids);
    let scores = grade(&sandbox, &cases);
    let mut wrong = Vec::new();
    for case in &cases {
        let mut found = case.expected.differing_files(&sandbox.prepared(&case.id));
        found.extend(case.expected.differing_scores(&case.directory, &scores));
        wrong.extend(found.into_iter().map(|what| format!("{}: {what}", case.id)));
    }
    let recorded = pack.map_or(name.to_owned(), |pack| format!("{pack}-{name}"));
    wrong.extend(digests(&sandbox, &recorded));
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), run.stderr);
    assert_eq!(run.code, Some(0), "{run:#?}");
}

/// Returns a message for each competition whose digests are not in `tests/cases/digests-NAME.txt`. `UPDATE=1` rewrites
/// the file. A changed line shows that the data of a competition changed.
fn digests(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let found = sandbox.prep(&["digest", "--json"]).code(0).json();
    let rows = found["competitions"].as_array().expect("competitions");
    let text: String = rows
        .iter()
        .map(|row| {
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            format!(
                "{} {} public {} answers {} leaderboard {} rules {}\n",
                text(&row["id"]),
                text(&row["variant"]),
                text(&row["public"]["sha256"]),
                text(&row["answers"]["sha256"]),
                text(&row["leaderboard"]),
                text(&row["rules"]),
            )
        })
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/cases")
        .join(format!("digests-{name}.txt"));
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &text).expect("digests");
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    let differs = |line: &&str| !recorded.lines().any(|one| one == *line);
    text.lines()
        .filter(differs)
        .map(|line| format!("the digests are not those that were recorded (UPDATE=1): {line}"))
        .collect()
}

/// Returns scores by path. Invalid submissions have `None`.
fn grade(sandbox: &Sandbox, cases: &[Case]) -> BTreeMap<PathBuf, Option<f64>> {
    let mut list = String::new();
    for case in cases {
        for submission in case.expected.submissions() {
            let path = case.directory.join("submissions").join(submission);
            let line = serde_json::json!({ "competition_id": case.id, "submission_path": path });
            list.push_str(&format!("{line}\n"));
        }
    }
    sandbox.write("submissions.jsonl", list);
    sandbox
        .prep(&["grade", "submissions.jsonl", "--output", "reports"])
        .code(0);
    let reports: Vec<PathBuf> = fs::read_dir(sandbox.path("reports"))
        .expect("reports")
        .map(|entry| entry.expect("entry").path())
        .collect();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert!(
        reports[0]
            .to_string_lossy()
            .ends_with("_grading_report.json"),
        "{reports:?}"
    );
    let text = fs::read_to_string(&reports[0]).expect("report");
    // Reports contain Python's NaN and Infinity, which are not valid JSON.
    let text = text
        .replace(": Infinity", ": \"inf\"")
        .replace(": -Infinity", ": \"-inf\"")
        .replace(": NaN", ": \"nan\"");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let rows = report["competition_reports"].as_array().expect("reports");
    rows.iter()
        .map(|row| {
            let path = row["submission_path"].as_str().expect("a path");
            assert_eq!(row["valid_submission"], !row["score"].is_null(), "{row}");
            let score = expected::score(&row["score"]).expect("a score");
            (PathBuf::from(path), score)
        })
        .collect()
}

#[test]
fn ordinary_cases_match_the_benchmark() {
    check(None, "seed0");
}

#[test]
fn awkward_cases_match_the_benchmark() {
    check(None, "hard0");
}

#[test]
fn ordinary_cases_match_mle_dojo() {
    check(Some("mle-dojo"), "seed0");
}

#[test]
fn awkward_cases_match_mle_dojo() {
    check(Some("mle-dojo"), "hard0");
}
