//! Tests with invalid tables and pipelines.

use super::{assert_input_is_rejected, assert_readable};
use crate::support::{Archive, Harbour, Sandbox};

#[test]
fn table_that_contradicts_its_declaration_is_an_error() {
    for (table, parts) in [
        (
            "id,weight,docked\n1,2,0\n",
            &[
                "table/labelled",
                "`train.csv` has no column `tons`",
                "it has id, weight, docked",
            ][..],
        ),
        (
            "id,tns,docked\n1,2,0\n",
            &["no column `tons`", "did you mean `tns`?"],
        ),
        ("", &["table/labelled", "train.csv"]),
        (
            "id,tons,docked\n1,2,0\n2,3,1,4\n",
            &["table/labelled", "row 2", "4 fields"],
        ),
        ("id,tons,docked\n1,2,\"open\n", &["train.csv"]),
        (
            "id,tons,docked\none,2,0\n2,2,0\n3,2,0\n4,2,0\n",
            &[
                "`train.csv`: column `id` is declared integer",
                "row 1 (byte 15) contains `one`",
                "declare the column text",
            ],
        ),
        (
            "id,tons,docked\n1,2,0\n2,2,0\n,2,0\n",
            &["row 3 (byte 27) is empty", "declare the column number"],
        ),
    ] {
        assert_input_is_rejected(
            |sandbox| sandbox.bundle(Harbour::ID, &Harbour::bundle(table)),
            4,
            parts,
        );
    }
}

/// The cells of a repeated column would be those of the first column with its name.
#[test]
fn repeated_names_in_a_parquet_file_are_an_error() {
    let sandbox = Sandbox::new();
    let content = include_bytes!("parquet/repeated.parquet");
    let bundle = Archive::new().file("repeated.parquet", content);
    sandbox.bundle(Harbour::ID, &bundle.bytes());
    let pipeline = Harbour::PIPELINE;
    let head = &pipeline[..pipeline.find("tables:").expect("tables")];
    let tables = "tables:\n  t: { read: repeated.parquet, columns: [id] }\npublic:\n  t.csv: SELECT id FROM t\n";
    sandbox.pipeline(Harbour::ID, &format!("{head}{tables}"));
    let ended = sandbox.run(Harbour::ID).code(4);
    ended.stderr_has(&["`repeated.parquet` has several columns `x`"]);
}

#[test]
fn malformed_json_is_an_error_with_its_place() {
    let pipeline = Harbour::PIPELINE.replace("read: train.csv", "read: train.json");
    for (text, parts) in [
        (
            "[{\"id\": 1, \"tons\": 2, \"docked\": 0},\n {\"id\": ]",
            &["train.json", "line 2"][..],
        ),
        ("[{\"id\": 1", &["train.json"]),
        ("", &["train.json"]),
    ] {
        let sandbox = Sandbox::new();
        sandbox.pipeline(Harbour::ID, &pipeline);
        sandbox.bundle(
            Harbour::ID,
            &Archive::new().file("train.json", text).bytes(),
        );
        let ended = sandbox.run(Harbour::ID).code(4).stderr_has(parts);
        assert_readable(&ended);
        assert!(!sandbox.prepared(Harbour::ID).exists());
    }
}

/// pandas would convert the column `sailed_at` to dates because of its name. `prep` does not imitate this, but reports
/// an error at the place where the pipeline reads the file.
#[test]
fn json_names_that_pandas_would_convert_are_errors() {
    let pipeline =
        Harbour::PIPELINE.replace("{ read: train.csv,", "{ read: train.json, dialect: ujson,");
    let record = |extra: &str| format!("[{{\"id\": 1, \"tons\": 2, \"docked\": 0{extra}}}]");
    for (text, parts) in [
        (
            record(", \"sailed_at\": \"2020-01-01\""),
            &["train.json", "`sailed_at`", "dates", "pipeline.yaml:6"][..],
        ),
        (
            "[1]".to_owned(),
            &["train.json", "element 1", "pipeline.yaml:6"],
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.pipeline(Harbour::ID, &pipeline);
        sandbox.bundle(
            Harbour::ID,
            &Archive::new().file("train.json", text).bytes(),
        );
        sandbox.run(Harbour::ID).code(4).stderr_has(parts);
        assert!(!sandbox.prepared(Harbour::ID).exists());
    }
}

#[test]
fn pipeline_mistakes_are_reported_before_anything_runs() {
    let replace = |from: &str, to: &str| Harbour::PIPELINE.replace(from, to);
    for (text, parts) in [
        (replace("tables:", "tables: ["), &["pipeline.yaml:"][..]),
        (
            replace("public:", "publik:"),
            &["pipeline.yaml:9:1", "`publik`", "did you mean `public`?"],
        ),
        (
            replace("method: shuffle", "method: shufle"),
            &["pipeline.yaml:7:", "did you mean `shuffle`?"],
        ),
        (
            replace("SELECT id, 0 AS", "SELECT idd, 0 AS"),
            &[
                "pipeline.yaml:12:33",
                "no column `idd`",
                "did you mean `id`?",
                "id, tons, docked",
            ],
        ),
        (
            replace("SELECT * FROM train\n", "SELEC * FROM train\n"),
            &["pipeline.yaml:10:"],
        ),
        (
            replace("  test.csv: SELECT * EX", "  ../test.csv: SELECT * EX"),
            &["pipeline.yaml:11:", "`..`"],
        ),
        (
            replace("accuracy", "acuracy"),
            &["did you mean `accuracy`?"],
        ),
    ] {
        assert_ne!(text, Harbour::PIPELINE);
        let install = |sandbox: &Sandbox| sandbox.pipeline(Harbour::ID, &text);
        assert_input_is_rejected(install, 3, parts);
    }
}

#[test]
fn failed_check_prevents_publishing() {
    let text = Harbour::PIPELINE.replace(
        "disjoint: train.id and test.id",
        "each: labelled.id in test.id",
    );
    assert_input_is_rejected(
        |sandbox| sandbox.pipeline(Harbour::ID, &text),
        5,
        &["check/each"],
    );
}

/// One run reports mistakes in a key, in a query and in the grading, in the order of the file.
#[test]
fn all_mistakes_of_a_pipeline_are_reported_at_once() {
    let sandbox = Sandbox::new();
    let text = Harbour::PIPELINE
        .replace("category", "categroy")
        .replace("SELECT id, 0 AS", "SELECT idd, 0 AS")
        .replace("accuracy: docked", "acuracy: docked");
    sandbox.pipeline(Harbour::ID, &text);
    let ended = sandbox.run(Harbour::ID).code(3);
    assert_readable(&ended);
    let places: Vec<&str> = ended
        .stderr
        .lines()
        .filter_map(|line| line.split_once("pipeline.yaml:"))
        .map(|(_, place)| place)
        .collect();
    assert_eq!(places, ["2:1", "12:33", "27:11"], "{}", ended.stderr);
}

/// `prep` prints the cause of a failure once, with and without a terminal.
#[test]
fn failure_is_reported_once() {
    let sandbox = Sandbox::new();
    Harbour::install(&sandbox);
    sandbox.bundle(Harbour::ID, b"no zip");
    let ended = sandbox.run(Harbour::ID).code(4);
    let count = ended.stderr.matches("expected a zip archive").count();
    assert_eq!(count, 1, "{}", ended.stderr);
}
