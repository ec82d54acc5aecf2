//! Tests of `prep pipeline show ID TABLE` and `--sql`: users can show, count and query every column.
//! `prep` does not keep large results in memory.

use std::fmt::Write as _;

use serde_json::json;

use crate::support::{Archive, CommandResult, Sandbox};

const ID: &str = "lighthouse";

const PIPELINE: &str = "\
name: Lighthouse
category: Tabular
bundle: { kaggle: lighthouse }
tables:
  ships: { read: ships.csv, columns: { id: integer, port: inferred } }
  seen: SELECT * FROM ships WHERE id >= 2
  train, test: { split: seen, method: shuffle, test_size: 2, seed: 0 }
public:
  train.csv: SELECT * FROM train
private:
  test.csv: SELECT * FROM test
";

fn sandbox(table: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.bundle(ID, &Archive::new().file("ships.csv", table).bytes());
    sandbox.pipeline(ID, PIPELINE);
    sandbox
}

fn show(sandbox: &Sandbox, arguments: &[&str]) -> CommandResult {
    let mut all = vec!["pipeline", "show", ID];
    all.extend(arguments);
    all.extend(["--source", "source", "--json"]);
    sandbox.prep(&all)
}

fn small() -> Sandbox {
    sandbox("id,port,tons,flag\n1,a,1.5,x\n2,b,,x\n3,a,2.5,\n4,b,2.5,x\n5,a,4,y\n")
}

#[test]
fn show_counts_every_column_and_sql_can_query_it() {
    let sandbox = small();
    let shown = show(&sandbox, &["seen", "--rows", "1"]).code(0);
    let rows = &shown.competition()["rows"];
    assert_eq!(rows["rows"], 4);
    assert_eq!(rows["first"], json!([["2", "b", null, "x"]]));
    let column = |name: &str, kind: &str, declared: bool, filled: u64, distinct: u64| json!({ "name": name, "type": kind, "declared": declared, "filled": filled, "distinct": distinct });
    assert_eq!(
        rows["columns"],
        json!([
            column("id", "integer", true, 4, 4),
            column("port", "text", true, 4, 2),
            column("tons", "number", false, 3, 2),
            column("flag", "text", false, 3, 2),
        ])
    );
    // Queries may use columns that are not declared, and need no defined order of rows.
    let sql = "SELECT port, sum(tons) AS tons FROM train GROUP BY port";
    show(&sandbox, &["--sql", sql]).code(0);
    let sql = "SELECT * EXCLUDE (flag) FROM seen WHERE tons > 2 ORDER BY tons DESC";
    let shown = show(&sandbox, &["--sql", sql]).code(0);
    let first = &shown.competition()["rows"]["first"];
    assert_eq!(
        first,
        &json!([["5", "a", "4.0"], ["3", "a", "2.5"], ["4", "b", "2.5"]])
    );
    let data = sandbox.data().join(ID);
    assert!(!data.exists(), "nothing is published");
}

#[test]
fn query_mistakes_list_the_columns() {
    let sandbox = small();
    show(&sandbox, &["--sql", "SELECT ton FROM seen"])
        .code(3)
        .stderr_has(&[
            "there is no column `ton`",
            "did you mean `tons`? `seen` has id, port, tons, flag",
        ]);
    let quoted = "SELECT id FROM seen WHERE port = \"Köln\"";
    show(&sandbox, &["--sql", quoted])
        .code(3)
        .stderr_has(&["write a string in single quotes. `seen` has id,"]);
    show(&sandbox, &["--sql", "SELECT id FROM sea"])
        .code(3)
        .stderr_has(&["did you mean `seen`?"]);
    show(&sandbox, &["--sql", "SELECT tons > 'x' AS wrong FROM seen"])
        .code(3)
        .stderr_has(&["`tons` is a number and `'x'` is text"]);
}

#[test]
fn large_results_are_not_kept_in_memory() {
    let mut table = "id,port,note\n".to_owned();
    let note = "n".repeat(200);
    for id in 0..20_000 {
        writeln!(table, "{id},p{},{note}", id % 7).unwrap();
    }
    let sandbox = sandbox(&table);
    // The result has a million rows of 200 bytes each, of which `prep` keeps only two.
    let sql = "SELECT a.port, b.note FROM ships a, ships b WHERE a.id < 50";
    let shown = show(
        &sandbox,
        &["--sql", sql, "--rows", "2", "--memory", "600MB"],
    )
    .code(0);
    let rows = &shown.competition()["rows"];
    assert_eq!(rows["rows"], 1_000_000);
    assert_eq!(rows["first"].as_array().unwrap().len(), 2);
    assert_eq!(rows["columns"][0]["distinct"], 7);
}
