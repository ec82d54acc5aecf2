//! Hands submissions over in all ways, with all kinds of paths: `grade`, `validate`, lists, `mcp` and `serve`.
//! `python/tests/test_handover.py` does the same for the Python packages.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use prep_app::Sha256;
use rustix::fs::{CWD, FileType, Mode, RenameFlags};
use serde_json::{Value, json};

use crate::mcp::Client;
use crate::serve::{Serving, multipart, post};
use crate::support::{Harbour, Sandbox};

/// A string in files that an agent must not read.
const SECRET: &str = "hunter2";

/// The kinds of paths: a name in the directory `work`, and the expected results.
const KINDS: &[Kind] = &[
    Kind("good.csv", "valid", "valid"),
    Kind("./inner/../good.csv", "valid", "valid"),
    Kind("in.csv", "valid", "not a regular file"),
    Kind("linked/good.csv", "valid", "not a regular file"),
    Kind("out.csv", "invalid", "not a regular file"),
    Kind("linked-out/secret.csv", "invalid", "not a regular file"),
    Kind("hard.csv", "invalid", "hard links"),
    Kind("../secret.csv", "invalid", "not below the directory"),
    Kind("pipe.csv", "missing", "not a regular file"),
    Kind("zero.csv", "missing", "not a regular file"),
    Kind("directory.csv", "missing", "not a regular file"),
    Kind("none.csv", "missing", "no file"),
    Kind("good.csv/none.csv", "missing", "not a regular file"),
    Kind("secret.txt", "missing", "invalid"),
    Kind("/dev/zero", "missing", "not below the directory"),
    Kind("/proc/self/environ", "missing", "not below the directory"),
    Kind(
        "data/harbour/prepared/public/sample_submission.csv",
        "valid",
        "data directory",
    ),
    Kind("cache/secret.csv", "invalid", "data directory"),
    Kind("huge.csv", "invalid", "invalid"),
    Kind("latin.csv", "invalid", "invalid"),
    Kind("json.csv", "invalid", "invalid"),
];

/// A path, the verdict that the user of the program gets (`valid`, `invalid` or `missing`), and the verdict for an agent:
/// the same words, or a part of the error message.
struct Kind(&'static str, &'static str, &'static str);

/// Prepares a sandbox. The data directory and the cache are inside `work`, the directory of submissions.
fn world() -> Sandbox {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let mut run = sandbox.run_command(&[Harbour::ID]);
    run.args(["--data-dir", "work/data", "--cache-dir", "work/cache"]);
    assert!(run.output().expect("a run").status.success());
    let path = |name: &str| sandbox.path(&format!("work/{name}"));
    fs::copy(
        path("data/harbour/prepared/public/sample_submission.csv"),
        path("good.csv"),
    )
    .expect("a copy");
    let secret = format!("{SECRET},key\n{SECRET},{SECRET}\n");
    for name in [
        "secret.csv",
        "work/secret.txt",
        "work/cache/secret.csv",
        "hidden/secret.csv",
    ] {
        sandbox.write(name, &secret);
    }
    sandbox.write(
        "work/latin.csv",
        [b"id,docked\n1,".as_slice(), &[0xe9], b"\n"].concat(),
    );
    sandbox.write(
        "work/json.csv",
        format!("{{\"username\":\"{SECRET}\",\"key\":\"{SECRET}\"}}\n"),
    );
    fs::create_dir(path("inner")).expect("a directory");
    fs::create_dir(path("directory.csv")).expect("a directory");
    fs::hard_link(sandbox.path("secret.csv"), path("hard.csv")).expect("a hard link");
    for (target, name) in [
        ("good.csv", "in.csv"),
        (".", "linked"),
        ("../secret.csv", "out.csv"),
        ("../hidden", "linked-out"),
        ("/dev/zero", "zero.csv"),
    ] {
        symlink(target, path(name)).expect("a link");
    }
    rustix::fs::mknodat(CWD, path("pipe.csv"), FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
    File::create(path("huge.csv"))
        .and_then(|file| file.set_len(1 << 42))
        .expect("a sparse file");
    sandbox
}

const DIRECTORIES: [&str; 4] = ["--data-dir", "work/data", "--cache-dir", "work/cache"];

fn path_of(name: &str) -> String {
    match name.starts_with('/') {
        true => name.to_owned(),
        false => format!("work/{name}"),
    }
}

fn verdict_in(report: &Value) -> &'static str {
    match (
        report["submission_exists"] == true,
        report["valid_submission"] == true,
    ) {
        (_, true) => "valid",
        (true, false) => "invalid",
        (false, false) => "missing",
    }
}

#[test]
fn owner_can_hand_over_any_regular_file() {
    let sandbox = world();
    let list: String = KINDS
        .iter()
        .map(|Kind(name, ..)| {
            json!({ "competition_id": Harbour::ID, "submission_path": path_of(name) }).to_string()
                + "\n"
        })
        .collect();
    sandbox.write("list.jsonl", list);
    let begun = Instant::now();
    let listed = sandbox.prep(
        &[
            &["grade", "list.jsonl", "-o", "reports", "--json"],
            &DIRECTORIES[..],
        ]
        .concat(),
    );
    assert!(!format!("{}{}", listed.stdout, listed.stderr).contains(SECRET));
    let listed = listed.code(0).json();
    for (Kind(name, expected, _), listed) in KINDS
        .iter()
        .zip(listed["competitions"].as_array().expect("a list"))
    {
        assert_eq!(verdict_in(listed), *expected, "list: {name}: {listed}");
        for verb in ["grade", "validate"] {
            let path = path_of(name);
            let ended =
                sandbox.prep(&[&[verb, Harbour::ID, &path, "--json"], &DIRECTORIES[..]].concat());
            assert!(
                !format!("{}{}", ended.stdout, ended.stderr).contains(SECRET),
                "{verb}: {name}"
            );
            let found = ended.code(i32::from(*expected != "valid")).competition();
            let found = match verb {
                "grade" => verdict_in(&found),
                _ if found["valid"] == true => "valid",
                _ if found["reason"]["kind"] == "no_submission" => "missing",
                _ => "invalid",
            };
            assert_eq!(found, *expected, "{verb}: {name}");
        }
    }
    assert!(
        begun.elapsed() < Duration::from_secs(120),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn agent_can_hand_over_only_its_own_files() {
    let sandbox = world();
    let arguments = [&["--submissions", "work", "--scores"], &DIRECTORIES[..]].concat();
    let mut client = Client::start(&sandbox, &arguments);
    for Kind(name, _, expected) in KINDS {
        for tool in ["validate", "grade"] {
            let (found, is_error) =
                client.call(tool, json!({ "id": Harbour::ID, "submission": name }));
            assert!(
                !found.to_string().contains(SECRET),
                "{tool}: {name}: {found}"
            );
            match is_error {
                true => {
                    let message = found["error"]["message"].as_str().expect("a message");
                    let is_suffix = *name == "secret.txt" && message.contains(".csv");
                    assert!(
                        is_suffix || message.contains(expected),
                        "{tool}: {name}: {message}"
                    );
                }
                false => {
                    let found = &found["competitions"][0];
                    let is_valid = found["valid"] == true || found["valid_submission"] == true;
                    let words = if is_valid { "valid" } else { "invalid" };
                    assert_eq!(words, *expected, "{tool}: {name}: {found}");
                }
            }
        }
    }
    client.close();
    // The directory of submissions must not be in the data directory or in the cache.
    for inner in [
        "work/data",
        "work/data/harbour/prepared/private",
        "work/cache",
    ] {
        let ended = sandbox.prep(&[&["mcp", "--submissions", inner], &DIRECTORIES[..]].concat());
        ended.code(2).stderr_has(&["submissions cannot be in"]);
    }
}

/// A thread repeatedly exchanges the submission and a symbolic link to a secret file, as an agent could.
#[test]
fn exchanged_submission_shows_nothing_of_other_files() {
    let sandbox = world();
    let (own, link) = (sandbox.path("work/good.csv"), sandbox.path("work/link"));
    symlink(sandbox.path("secret.csv"), &link).expect("a link");
    let arguments = [&["--submissions", "work"], &DIRECTORIES[..]].concat();
    let mut client = Client::start(&sandbox, &arguments);
    let is_done = AtomicBool::new(false);
    let valid = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &own, CWD, &link, RenameFlags::EXCHANGE)
                    .expect("an exchange");
            }
        });
        let mut valid = 0;
        for _ in 0..300 {
            let (found, is_error) = client.call(
                "validate",
                json!({ "id": Harbour::ID, "submission": "good.csv" }),
            );
            let one = &found["competitions"][0];
            assert!(is_error || one["valid"] == true, "{found}");
            assert!(!found.to_string().contains(SECRET), "{found}");
            valid += usize::from(!is_error);
        }
        is_done.store(true, Ordering::Relaxed);
        valid
    });
    assert!(valid > 0);
    client.close();
}

/// A thread repeatedly rewrites the submission, as an agent could. Each report has the digest of the graded bytes.
#[test]
fn digest_is_that_of_the_graded_bytes() {
    let sandbox = Harbour::prepared();
    let answers =
        fs::read(sandbox.prepared(Harbour::ID).join("private/test.csv")).expect("answers");
    let sample = fs::read(
        sandbox
            .prepared(Harbour::ID)
            .join("public/sample_submission.csv"),
    )
    .expect("a sample");
    let path = sandbox.write("work/a.csv", &sample);
    let digest = |bytes: &[u8]| format!("sha256:{}", Sha256::of_bytes(bytes));
    let expected = [(digest(&answers), 1.0), (digest(&sample), 0.8)];
    let mut client = Client::start(&sandbox, &["--submissions", "work", "--scores"]);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                for content in [&answers, &sample] {
                    fs::write(&path, content).expect("a write");
                }
            }
        });
        for _ in 0..300 {
            let (found, _) =
                client.call("grade", json!({ "id": Harbour::ID, "submission": "a.csv" }));
            let one = &found["competitions"][0];
            let digest = one["digests"]["submission"].as_str().unwrap_or_default();
            let known = expected.iter().find(|(known, _)| known == digest);
            if let Some((_, score)) = known {
                assert_eq!(one["score"], *score, "{one}");
            }
            assert_eq!(
                one["submission_is_answers"] == true,
                digest == expected[0].0,
                "{one}"
            );
        }
        is_done.store(true, Ordering::Relaxed);
    });
    client.close();
}

#[test]
fn copy_of_the_answers_is_reported_by_all_who_grade() {
    let sandbox = Harbour::prepared();
    let answers =
        fs::read(sandbox.prepared(Harbour::ID).join("private/test.csv")).expect("answers");
    sandbox.write("work/copy.csv", &answers);
    let digest = format!("sha256:{}", Sha256::of_bytes(&answers));
    let check = |way: &str, report: &Value| {
        assert_eq!(report["submission_is_answers"], true, "{way}: {report}");
        assert_eq!(report["comparable_with_v1"], false, "{way}: {report}");
        assert_eq!(report["digests"]["submission"], digest, "{way}: {report}");
        let because = report["not_comparable_because"].to_string();
        assert!(
            because.contains("identical to the answers"),
            "{way}: {because}"
        );
    };
    let graded = sandbox
        .prep(&["grade", Harbour::ID, "work/copy.csv", "--json"])
        .code(0);
    check("grade", &graded.competition());
    graded.stderr_has(&["work/copy.csv is identical to the answers of `harbour`"]);
    sandbox.write(
        "list.jsonl",
        "{\"competition_id\": \"harbour\", \"submission_path\": \"work/copy.csv\"}\n",
    );
    let graded = sandbox
        .prep(&["grade", "list.jsonl", "-o", "reports", "--json"])
        .code(0);
    check("list", &graded.competition());
    let mut client = Client::start(&sandbox, &["--submissions", "work", "--scores"]);
    let call = json!({ "id": Harbour::ID, "submission": "copy.csv" });
    let (graded, _) = client.call("grade", call.clone());
    check("mcp", &graded["competitions"][0]);
    // Whether a file is a copy of the answers is a kind of score, so validation does not show it.
    let (validated, _) = client.call("validate", call);
    assert!(!validated.to_string().contains("identical"), "{validated}");
    client.close();
    // The server names each upload `submission.csv`. It must not grade this file in its working directory instead.
    sandbox.write("submission.csv", "id\n");
    let server = Serving::start(&sandbox, "data", &[Harbour::ID, "--scores"]);
    let (status, text) = server.ask(&post("/grade", &multipart(&answers)));
    assert_eq!(status, 200, "{text}");
    check("serve", &serde_json::from_str(&text).expect("JSON"));
    let (_, text) = server.validate(&answers);
    assert!(!text.contains("identical"), "{text}");
    let log = fs::read_to_string(sandbox.data().join("grades.jsonl")).expect("a log");
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 4, "{log}");
    for line in lines {
        assert_eq!(
            (&line["submission_is_answers"], &line["submission"]),
            (&json!(true), &json!(digest))
        );
    }
    let sample = sandbox
        .prepared(Harbour::ID)
        .join("public/sample_submission.csv");
    let graded = sandbox
        .prep(&["grade", Harbour::ID, &sample.to_string_lossy(), "--json"])
        .code(0);
    assert_eq!(graded.competition()["submission_is_answers"], false);
}
