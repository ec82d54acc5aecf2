//! Tests with files that are not valid submissions.

use std::fs::{self, File};

use crate::support::{CommandResult, Harbour, Sandbox};

fn validate(sandbox: &Sandbox, path: &str) -> CommandResult {
    sandbox.prep(&["validate", Harbour::ID, path, "--json"])
}

/// Returns the prepared answers, which get the perfect score as a submission.
fn right(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.prepared(Harbour::ID).join("private/test.csv")).expect("answers")
}

#[test]
fn invalid_submissions_get_a_helpful_message() {
    let sandbox = Harbour::prepared();
    let right = right(&sandbox);
    let wide = {
        let names: Vec<String> = (0..10_000).map(|number| format!("c{number}")).collect();
        format!("{}\n{}\n", names.join(","), vec!["1"; 10_000].join(","))
    };
    let binary: Vec<u8> = (0..4096_u32)
        .map(|number| (number * number % 251) as u8)
        .collect();
    let first = right.lines().nth(1).expect("a row");
    let cases: [(&str, Vec<u8>, &str, &str); 9] = [
        ("empty", Vec::new(), "missing_column", "empty"),
        ("binary", binary, "", ""),
        ("zip", Harbour::bundle(&right), "unreadable", "zip"),
        ("wide", wide.into_bytes(), "unreadable", "10000"),
        ("header", b"id,docked\n".to_vec(), "row_count", "10"),
        (
            "column",
            right.replace("docked", "dock").into_bytes(),
            "missing_column",
            "`docked`",
        ),
        ("utf16", b"\xff\xfei\0d\0".to_vec(), "unreadable", "UTF-16"),
        (
            "short",
            right.replace(&format!("{first}\n"), "").into_bytes(),
            "row_count",
            "9",
        ),
        (
            "ids",
            right
                .replace(first, &first.replacen(|c: char| c.is_ascii_digit(), "9", 1))
                .into_bytes(),
            "",
            "",
        ),
    ];
    for (name, content, kind, part) in cases {
        let path = format!("files/{name}.csv");
        sandbox.write(&path, content);
        let answer = validate(&sandbox, &path).code(1);
        let found = answer.competition();
        assert_eq!(found["valid"], false, "{name}: {found}");
        if !kind.is_empty() {
            assert_eq!(found["reason"]["kind"], kind, "{name}: {found}");
        }
        let message = found["message"].as_str().expect("a message");
        assert!(
            message.contains(part) && message.len() < 600,
            "{name}: {message}"
        );
        assert!(
            !answer.stderr.contains("panicked"),
            "{name}: {}",
            answer.stderr
        );
        let report = sandbox
            .prep(&["grade", Harbour::ID, &path, "--json"])
            .code(1)
            .competition();
        assert!(report["score"].is_null(), "{name}: {report}");
        assert_eq!(report["valid_submission"], false, "{name}: {report}");
    }
    sandbox.write("files/right.csv", &right);
    assert_eq!(
        validate(&sandbox, "files/right.csv").code(0).competition()["valid"],
        true
    );
}

#[test]
fn oversized_submission_is_rejected_without_reading_it() {
    let sandbox = Harbour::prepared();
    let path = sandbox.write("files/huge.csv", "id,docked\n");
    // The file is sparse, so it needs no disk space. Reading it would take minutes.
    File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_len(5 << 40))
        .expect("a sparse file");
    let found = validate(&sandbox, "files/huge.csv").code(1).competition();
    assert_eq!(found["reason"]["kind"], "unreadable", "{found}");
    assert!(
        found["message"]
            .as_str()
            .is_some_and(|text| text.contains("at most")),
        "{found}"
    );
}

#[test]
fn bad_entry_of_a_list_does_not_stop_other_gradings() {
    let sandbox = Harbour::prepared();
    sandbox.write("files/right.csv", right(&sandbox));
    let line = |id: &str, path: &str| {
        format!(
            "{}\n",
            serde_json::json!({ "competition_id": id, "submission_path": path })
        )
    };
    let list = [
        line(Harbour::ID, "files/absent.csv"),
        line("harbuor", "files/right.csv"),
        line("spaceship-titanic", "files/right.csv"),
        line(Harbour::ID, "files/right.csv"),
    ];
    sandbox.write("list.jsonl", list.concat());
    let ended = sandbox.prep(&["grade", "list.jsonl", "--output", "out", "--json"]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let graded = report["competitions"].as_array().expect("competitions");
    assert_eq!(graded.len(), 4, "{report}");
    assert!(
        graded[0]["score"].is_null() && graded[0]["submission_exists"] == false,
        "{report}"
    );
    assert_eq!(graded[3]["score"], 1.0, "{report}");
    assert_eq!(graded[1]["error"]["code"], 2, "{report}");
    assert_eq!(graded[2]["error"]["code"], 4, "{report}");
    ended.stderr_has(&[
        "list.jsonl:2",
        "did you mean `harbour`?",
        "list.jsonl:3",
        "not prepared",
    ]);
}

#[test]
fn malformed_list_is_an_error_with_its_line() {
    let sandbox = Harbour::prepared();
    sandbox.write(
        "list.jsonl",
        "{\"competition_id\": \"harbour\", \"submission_path\": \"a.csv\"}\n{\"competition_id\":\n",
    );
    let ended = sandbox.prep(&["grade", "list.jsonl", "--output", "out"]);
    super::assert_readable(&ended);
    ended.code(2).stderr_has(&["list.jsonl", "2"]);
    assert!(!sandbox.path("out").exists());
}

#[test]
fn grading_needs_the_answers_but_no_public_files() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.write("files/a.csv", "id,docked\n");
    sandbox
        .prep(&["grade", Harbour::ID, "files/a.csv"])
        .code(4)
        .stderr_has(&["not prepared", "prep run harbour"]);
    sandbox.run_and_count_steps(Harbour::ID);
    // Grading does not read public files.
    fs::remove_file(sandbox.prepared(Harbour::ID).join("public/test.csv")).expect("remove");
    sandbox
        .prep(&["grade", Harbour::ID, "files/a.csv"])
        .code(1)
        .stderr_has(&["warning", "public/test.csv"]);
    fs::remove_file(sandbox.prepared(Harbour::ID).join("private/test.csv")).expect("remove");
    sandbox
        .prep(&["grade", Harbour::ID, "files/a.csv"])
        .code(4)
        .stderr_has(&["cannot read the answers", "prep run harbour"]);
}
