//! Compares the messages about wrong pipelines with `mistakes.txt`. Each entry changes one part of the pipeline:
//!
//! ```text
//! ## a pattern with a wrong suffix      a remark
//! photos/*.jpg => photos/*.jpeg         replaces a text in the pipeline; `\n` is a line break
//! check:                                the output of `prep pipeline check`
//! run: 3                                only without output of the check: exit code and messages of `prep run`
//! ```
//!
//! `UPDATE=1 cargo test -p mleprep --test end_to_end mistakes` writes the file again.
//! Read the difference before a commit.

use std::fs;
use std::path::Path;

use crate::support::{Archive, Harbour, Sandbox, hex_md5};

const ID: &str = "yard";

const PIPELINE: &str = "\
name: Yard
category: Tabular
bundle: { kaggle: yard }

tables:
  labelled: { read: train.csv, columns: { id: integer, kind: text, owner: text, weight: number } }
  photos: { files: photos/*.jpg }
  owners: SELECT owner, count(*) AS n FROM labelled GROUP BY owner ORDER BY owner
  train, test: { split: labelled, method: shuffle, test_size: 0.25, seed: 0 }

public:
  train.csv: SELECT * FROM train
  test.csv: SELECT id, kind, owner FROM test
  owners.csv: SELECT owner, n FROM owners ORDER BY owner
  sample_submission.csv: SELECT id, 1.5 AS weight FROM test
  train/: SELECT p.file FROM photos p JOIN train t ON p.stem = CAST(t.id AS VARCHAR)

private:
  answers.csv: SELECT id, weight FROM test

checks:
  unique: labelled.id

grade:
  answers: private/answers.csv
  rules:
    - columns: [id, weight]
    - same_rows
    - align: id
    - range: { columns: [weight], min: 0, max: 1000 }
  metric: { root_mean_squared_error: weight }
";

fn sandbox() -> Sandbox {
    let rows: String = (0..40)
        .map(|at| {
            let (kind, owner) = (["cat", "dog"][at % 2], ["ann", "ben", "cid"][at % 3]);
            format!("{at},{kind},{owner},{}.5\n", at * 7 % 30)
        })
        .collect();
    let mut archive = Archive::new().file("train.csv", format!("id,kind,owner,weight\n{rows}"));
    for at in 0..40 {
        archive = archive.file(&format!("photos/{at}.jpg"), format!("photo {at}"));
    }
    let shard = Archive::new().file("0.jpg", "photo").bytes();
    let archive = archive.file("shards/0.zip", shard);
    let sandbox = Sandbox::new();
    sandbox.bundle(ID, &archive.bytes());
    sandbox
}

#[test]
fn messages_about_wrong_pipelines_are_as_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/end_to_end/mistakes.txt");
    let recorded = fs::read_to_string(&path).expect("mistakes.txt");
    let sandbox = sandbox();
    let entries = recorded.split("## ").filter(|entry| !entry.is_empty());
    let found: Vec<String> = entries.map(|entry| replay(&sandbox, entry)).collect();
    assert!(found.len() > 55, "{} entries", found.len());
    let found = format!("## {}", found.join("\n## "));
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &found).expect("mistakes.txt");
        return;
    }
    let pairs = recorded.lines().zip(found.lines());
    let differing = pairs.clone().find(|(one, other)| one != other);
    assert!(found == recorded, "{differing:?}\n{found}");
}

#[test]
fn a_directory_without_files_is_a_warning() {
    let sandbox = sandbox();
    for (stem, is_empty) in [("t.id", false), ("-t.id - 1", true)] {
        let pipeline = PIPELINE.replace("CAST(t.id AS", &format!("CAST({stem} AS"));
        sandbox.write("pipelines/yard/pipeline.yaml", &pipeline);
        let ended = sandbox.prep(&["run", ID, "--source", "source"]);
        let warning = "yard: `public/train/` has no files";
        assert_eq!(ended.stderr.contains(warning), is_empty, "{}", ended.stderr);
    }
}

#[test]
fn checksums_that_name_no_output_are_a_mistake() {
    let sandbox = sandbox();
    sandbox.write("pipelines/yard/pipeline.yaml", PIPELINE);
    for (text, message) in [
        ("[]", "expected a map"),
        (r#"{ "publik": {} }"#, "unknown field `publik`"),
        (r#"{ "public": { "train.csv": "0" } }"#, "`0` is not an MD5"),
        (
            r#"{ "public": { "trian.csv": "8f12d4f1f138f3867e881293b9bc54ee" } }"#,
            "no output creates `public/trian.csv`",
        ),
    ] {
        sandbox.write("pipelines/yard/checksums.json", text);
        let ended = sandbox.prep(&["pipeline", "check", "pipelines"]).code(3);
        assert!(ended.stdout.contains(message), "{text}: {}", ended.stdout);
    }
    sandbox.write("pipelines/yard/checksums.json", "{}");
    sandbox.prep(&["pipeline", "check", "pipelines"]).code(0);
    let ended = sandbox.prep(&["run", ID, "--source", "source"]).code(0);
    assert!(!ended.stdout.contains("checksums ok"), "{}", ended.stdout);
}

#[test]
fn a_table_without_rows_is_a_warning() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let train = "train.csv: SELECT * FROM train";
    for (condition, is_empty) in [("", false), (" WHERE tons != NULL", true)] {
        let pipeline = Harbour::PIPELINE.replacen(train, &format!("{train}{condition}"), 1);
        sandbox.pipeline(Harbour::ID, &pipeline);
        let ended = sandbox
            .prep(&["run", Harbour::ID, "--source", "source"])
            .code(0);
        let warning = "harbour: `public/train.csv` has no rows";
        assert_eq!(ended.stderr.contains(warning), is_empty, "{}", ended.stderr);
    }
}

#[test]
fn rows_that_are_paired_by_position_are_a_warning() {
    let sandbox = sandbox();
    for (rule, is_by_position) in [("    - align: id\n", false), ("", true)] {
        let pipeline = PIPELINE.replace("    - align: id\n", rule);
        sandbox.write("pipelines/yard/pipeline.yaml", &pipeline);
        let ended = sandbox.prep(&["run", ID, "--source", "source"]);
        let warning = "rows are paired by position: if the rows are in reverse order, the answers have the score ";
        assert_eq!(
            ended.stderr.contains(warning),
            is_by_position,
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn a_json_member_that_no_row_has_is_a_warning() {
    let rows: String = (0..40)
        .map(|at| {
            let rare = if at == 39 { ", \"rare\": 1" } else { "" };
            format!(
                "{{\"id\": {at}, \"note\": {{\"kind\": \"k{}\", \"size\": {{\"x\": 1}}{rare}}}}}\n",
                at % 2
            )
        })
        .collect();
    let sandbox = Sandbox::new();
    sandbox.bundle(ID, &Archive::new().file("all.jsonl", rows).bytes());
    for (column, expected) in [
        ("json_get(note, 'kind') AS c", None),
        ("json_get(note, 'rare') AS c", None),
        ("json_without(note, 'size', 'kind') AS c", None),
        (
            "json_get(note, 'kinds') AS c",
            Some("no row of `all` has the member `kinds` in `note`; did you mean `kind`?"),
        ),
        (
            "json_get(json_get(note, 'size'), 'y') AS c",
            Some("the member `size.y` in `note`; the object has x"),
        ),
        (
            "json_without(json_without(note, 'size'), 'kint') AS c",
            Some("the member `kint` in `note`; did you mean `kind`?"),
        ),
    ] {
        let pipeline = format!(
            "name: Yard\ncategory: Tabular\nbundle: {{ kaggle: yard }}\ntables:\n  \
             all: {{ read: all.jsonl, columns: {{ id: integer, note: json }} }}\n  \
             train, test: {{ split: all, method: shuffle, test_size: 0.5, seed: 0 }}\n\
             public:\n  train.csv: SELECT id, {column} FROM all\n  sample_submission.csv: SELECT id, 1 AS y FROM test\n\
             private:\n  test.csv: SELECT id, id % 2 AS y FROM test\n\
             grade:\n  answers: private/test.csv\n  rules: [{{ align: id }}]\n  metric: {{ accuracy: y }}\n"
        );
        sandbox.write("pipelines/yard/pipeline.yaml", &pipeline);
        // The second run repeats the warning.
        for _ in 0..2 {
            let ended = sandbox.prep(&["run", ID, "--source", "source"]).code(0);
            match expected {
                Some(expected) => assert!(ended.stderr.contains(expected), "{}", ended.stderr),
                None => assert!(!ended.stderr.contains("no row of"), "{}", ended.stderr),
            }
        }
    }
}

#[test]
fn errors_in_json_have_all_mistakes_and_the_possible_values() {
    let sandbox = sandbox();
    let pipeline = PIPELINE
        .replace("category:", "kategory:")
        .replace("seed: 0", "sead: 0");
    sandbox.write("pipelines/yard/pipeline.yaml", &pipeline);
    let error = &sandbox.prep(&["plan", ID, "--json"]).json()["competitions"][0]["error"];
    assert_eq!(error["place"]["line"], 2);
    assert_eq!(error["further"][0]["help"], "did you mean `seed`?");
    assert_eq!(error["further"][0]["place"]["line"], 9);
    let error = &sandbox
        .prep(&["run", ID, "--link-mode", "hard", "--json"])
        .json()["error"];
    let help = error["help"].as_str().unwrap();
    assert!(help.starts_with("possible values: hardlink, "), "{help}");
}

/// Applies the replacements of an entry, and returns the entry with the current output.
fn replay(sandbox: &Sandbox, entry: &str) -> String {
    let mut lines = entry.lines();
    let mut text = format!("{}\n", lines.next().expect("a remark"));
    let mut pipeline = PIPELINE.to_owned();
    for line in lines {
        let Some((from, to)) = line.split_once(" => ") else {
            break;
        };
        text.push_str(&format!("{line}\n"));
        let (from, to) = (from.replace("\\n", "\n"), to.replace("\\n", "\n"));
        assert!(pipeline.contains(&from), "`{from}` is not in the pipeline");
        pipeline = pipeline.replace(&from, &to);
    }
    sandbox.write("pipelines/yard/pipeline.yaml", &pipeline);
    let checked = sandbox.prep(&["pipeline", "check", "pipelines/yard/pipeline.yaml"]);
    text.push_str(&format!(
        "check: {}\n{}",
        checked.code.expect("a code"),
        checked.stdout
    ));
    if checked.code == Some(0) {
        let run = ["run", ID, "--source", "source", "--quiet"];
        let ended = match checked.stdout.is_empty() {
            true => sandbox.prep(&run),
            // A run would repeat the warnings of the check.
            false => return text,
        };
        text.push_str(&format!("run: {}\n", ended.code.expect("a code")));
        let place = sandbox.path("").to_string_lossy().into_owned();
        let stderr = ended.stderr.replace(&place, "");
        for line in stderr.lines().map(str::trim_end) {
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

/// Grading reports mistakes of the author with their position in the pipeline, and not as mistakes of the submission.
#[test]
fn mistakes_in_grading_are_not_blamed_on_submissions() {
    let rows = (0..60).map(|at| format!("{at},{},{}\n", at % 7, ["nein", "ja"][at % 3 / 2]));
    let table = format!("id,age,churn\n{}", rows.collect::<String>());
    let sandbox = Sandbox::new();
    sandbox.bundle("survey", &Archive::new().file("train.csv", table).bytes());
    let new = "pipeline new survey --source source -o pipelines --target churn --metric accuracy";
    sandbox.prep(&new.split(' ').collect::<Vec<_>>()).code(0);
    let path = sandbox.path("pipelines/survey/pipeline.yaml");
    let good = fs::read_to_string(&path).unwrap();
    sandbox
        .prep(&["run", "survey", "--source", "source"])
        .code(0);
    let answers = sandbox.prepared("survey").join("private/test.csv");
    let answers = fs::read_to_string(answers).unwrap();
    sandbox.write("labels.csv", &answers);
    let scores = answers.replace(",ja", ",0.9").replace(",nein", ",0.1");
    sandbox.write("scores.csv", &scores);
    let list = "{\"competition_id\": \"survey\", \"submission_path\": \"scores.csv\"}\n";
    sandbox.write("list.jsonl", list);
    let conversion = "write numbers into the answers, for example `churn = 'ja' AS churn`";
    for (edit, cause, help) in [
        (
            ["{ accuracy: churn }", "{ roc_auc: churn }"],
            "texts do not state which of them is positive",
            conversion,
        ),
        (
            ["{ accuracy: churn }", "{ brier: churn }"],
            "which must be numbers",
            conversion,
        ),
        (
            ["accuracy: churn", "accuracy: chrn"],
            "the answers have no column `chrn`",
            "did you mean `churn`?",
        ),
        (
            ["align: id", "align: idd"],
            "neither the answers nor the sample submission has a column `idd`",
            "did you mean `id`?",
        ),
        (
            ["align: id", "aligns: id"],
            "there is no rule `aligns`",
            "did you mean `align`?",
        ),
        (
            ["[id, churn]", "[id, churn, age]"],
            "the sample submission has no column `age`",
            "",
        ),
    ] {
        let text = good.replacen(edit[0], edit[1], 1);
        assert_ne!(text, good);
        fs::write(&path, &text).unwrap();
        let line = text
            .lines()
            .position(|line| line.contains(edit[1]))
            .unwrap()
            + 1;
        let place = format!("pipelines/survey/pipeline.yaml:{line}:");
        for file in ["scores.csv", "labels.csv"] {
            for verb in ["grade", "validate"] {
                let ended = sandbox.prep(&[verb, "survey", file]).code(3);
                ended.stderr_has(&[cause, help, &place]);
            }
        }
        let ended = sandbox
            .prep(&["grade", "list.jsonl", "-o", "reports"])
            .code(3);
        ended.stderr_has(&[cause]);
    }
    // The pipeline is corrected, but the answers were prepared before.
    let text = good.replacen("{ accuracy: churn }", "{ roc_auc: churn }", 1);
    let corrected = text.replacen("id, churn FROM", "id, churn = 'ja' AS churn FROM", 1);
    fs::write(&path, corrected).unwrap();
    let ended = sandbox.prep(&["grade", "survey", "scores.csv"]).code(3);
    ended.stderr_has(&["the pipeline changed since the data were prepared"]);
    // The run reports the same mistake, first in the answers, then in the sample.
    for (edit, code, part) in [
        (["", ""], 5, conversion),
        (
            [
                "SELECT id, churn FROM",
                "SELECT id, churn = 'ja' AS churn FROM",
            ],
            5,
            "for example `0.5 AS churn`",
        ),
        (
            ["'nein' AS churn", "0.5 AS churn"],
            0,
            "sample: valid, score 0.5; answers",
        ),
    ] {
        let text = match edit[0] {
            "'nein' AS churn" => text.replacen(
                "SELECT id, churn FROM",
                "SELECT id, churn = 'ja' AS churn FROM",
                1,
            ),
            _ => text.clone(),
        };
        fs::write(&path, text.replacen(edit[0], edit[1], 1)).unwrap();
        sandbox
            .prep(&["run", "survey", "--source", "source"])
            .code(code)
            .stderr_has(&[part]);
    }
    sandbox
        .prep(&["grade", "survey", "scores.csv"])
        .code(0)
        .stdout_has(&["survey           1"]);
}

/// A plan finds files in place of a bundle that a run cannot read, and ends with the exit code of the run.
#[test]
fn a_plan_ends_with_the_exit_code_of_the_run() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    let whole = Harbour::bundle(&Harbour::table());
    let path = sandbox.path("source/harbour.zip");
    let remove = || match path.is_dir() {
        true => fs::remove_dir_all(&path),
        false => fs::remove_file(&path),
    };
    let (write, link) = (
        |bytes: &[u8]| fs::write(&path, bytes).unwrap(),
        || std::os::unix::fs::symlink("/mnt/old/harbour.zip", &path).unwrap(),
    );
    let md5 = format!("kaggle: harbour, md5: {}", hex_md5(&whole));
    let cases: [(&dyn Fn(), bool, i32, &str); 5] = [
        (
            &|| write(&whole[..whole.len() - 30]),
            false,
            4,
            "the zip archive is truncated",
        ),
        (
            &|| write(&whole[..whole.len() - 30]),
            true,
            5,
            "the zip archive is truncated",
        ),
        (&|| write(b"<html>"), false, 4, "expected a zip archive"),
        (
            &|| fs::create_dir(&path).unwrap(),
            false,
            4,
            "harbour.zip is a directory, but a bundle is one file",
        ),
        (
            &link,
            false,
            4,
            "is a link to the missing /mnt/old/harbour.zip",
        ),
    ];
    for (create, has_md5, code, cause) in cases {
        remove().unwrap();
        create();
        let sum = if has_md5 { &*md5 } else { "kaggle: harbour" };
        sandbox.pipeline(
            Harbour::ID,
            &Harbour::PIPELINE.replace("kaggle: harbour", sum),
        );
        let plan = sandbox
            .prep(&["plan", Harbour::ID, "--source", "source"])
            .code(code);
        plan.stdout_has(&["the bundle cannot be used", cause]);
        let run = sandbox
            .prep(&["run", Harbour::ID, "--source", "source"])
            .code(code);
        run.stderr_has(&[cause]);
    }
}
