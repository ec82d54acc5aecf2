//! Tests of tables whose declared columns `prep` keeps in memory.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::support::{Harbour, Sandbox};

fn run_with(sandbox: &Sandbox, tables: &str) {
    let head = Harbour::PIPELINE.split("tables:").next();
    let pipeline = format!("{}{tables}", head.unwrap_or_default());
    sandbox.pipeline(Harbour::ID, &pipeline);
    sandbox.run_and_count_steps(Harbour::ID);
}

fn prepared(table: &str, tables: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.bundle(Harbour::ID, &Harbour::bundle(table));
    run_with(&sandbox, tables);
    sandbox
}

fn assert_files(sandbox: &Sandbox, files: &[(&str, &str)]) {
    for (path, expected) in files {
        let found = fs::read_to_string(sandbox.prepared(Harbour::ID).join(path)).expect("a file");
        assert_eq!(found, *expected, "{path}");
    }
}

/// Asserts that no process mapped the table. Before `prep` maps an object that is also a published file, it replaces
/// the object with a copy, so the published file would have only one link.
fn assert_never_mapped(sandbox: &Sandbox, path: &str) {
    let file = fs::metadata(sandbox.prepared(Harbour::ID).join(path)).expect("a file");
    assert_eq!(file.nlink(), 2, "{path} was mapped");
}

/// Checks and other outputs read the short columns from memory, so no process maps the file of the table.
#[test]
fn table_published_unchanged_is_stored_once() {
    let rows = (0..500).map(|id| format!("n{id},{id},\"{id}, or {id}\"\n"));
    let table = format!("id,label,note\n{}", rows.collect::<String>());
    let tables = "tables:
  labelled: { read: train.csv, columns: { id: inferred, label: integer } }
public:
  train.csv: SELECT * FROM labelled
  ids.csv: SELECT label, id FROM labelled WHERE label < 3
private:
  answers.csv: SELECT id, label + 1 AS next FROM labelled WHERE label > 497
checks:
  ids: SELECT id, count(*) AS n FROM labelled GROUP BY id HAVING count(*) > 1
";
    let sandbox = prepared(&table, tables);
    assert_files(
        &sandbox,
        &[
            ("public/train.csv", &table),
            ("public/ids.csv", "label,id\n0,n0\n1,n1\n2,n2\n"),
            ("private/answers.csv", "id,next\nn498,499\nn499,500\n"),
        ],
    );
    assert_never_mapped(&sandbox, "public/train.csv");
    // A later run reads a column that is not in memory, so it maps a copy of the object in the cache.
    let tables = tables.replace("label < 3", "label < 2 AND note IS NOT NULL");
    let tables = tables.replace("label: integer }", "label: integer, note: text }");
    run_with(&sandbox, &tables);
    assert_files(
        &sandbox,
        &[
            ("public/train.csv", &table),
            ("public/ids.csv", "label,id\n0,n0\n1,n1\n"),
        ],
    );
}

/// All columns are declared. One column makes up most of the table, so `prep` keeps only the others in memory.
#[test]
fn long_column_is_not_kept_in_memory() {
    let note = "long, ".repeat(60);
    let rows = (0..500).map(|id| format!("n{id},{id},\"{note}\"\n"));
    let table = format!("id,label,note\n{}", rows.collect::<String>());
    let sandbox = prepared(
        &table,
        "tables:
  labelled: { read: train.csv, columns: { id: text, label: integer, note: text } }
public:
  train.csv: SELECT * FROM labelled
  ids.csv: SELECT label, id FROM labelled WHERE label > 497
private:
  answers.csv: SELECT sum(label) AS sum FROM labelled
checks:
  ids: SELECT id, count(*) AS n FROM labelled GROUP BY id HAVING count(*) > 1
",
    );
    assert_files(
        &sandbox,
        &[
            ("public/train.csv", &table),
            ("public/ids.csv", "label,id\n498,n498\n499,n499\n"),
            ("private/answers.csv", "sum\n124750\n"),
        ],
    );
    assert_never_mapped(&sandbox, "public/train.csv");
}

/// The only column in memory may have missing cells.
#[test]
fn missing_cell_of_a_single_column_stays_missing() {
    let table = "id,note\na,\"1, 2\"\n,3\n\"x, \"\"y\"\"\",\n";
    let sandbox = prepared(
        table,
        "tables:
  labelled: { read: train.csv, columns: { id: inferred } }
public:
  train.csv: SELECT * FROM labelled
  id.csv: SELECT id FROM labelled
  ids.csv: SELECT id, 7 AS seven FROM labelled
  quoted.csv: { csv: \"SELECT 7 AS seven, id FROM labelled\", quoting: nonnumeric }
private:
  missing.csv: SELECT count(*) AS n FROM labelled WHERE id IS NULL
",
    );
    let files = [
        ("public/train.csv", table),
        ("public/id.csv", "id\na\n\"\"\n\"x, \"\"y\"\"\"\n"),
        ("public/ids.csv", "id,seven\na,7\n,7\n\"x, \"\"y\"\"\",7\n"),
        (
            "public/quoted.csv",
            "\"seven\",\"id\"\n7,\"a\"\n7,\"\"\n7,\"x, \"\"y\"\"\"\n",
        ),
        ("private/missing.csv", "n\n1\n"),
    ];
    assert_files(&sandbox, &files);
}
