//! Tables of which the declared columns are kept in memory.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::support::{Harbour, Sandbox};

/// The harbour's pipeline with other tables, outputs and checks.
fn pipeline(tables: &str) -> String {
    let head = Harbour::PIPELINE.split("tables:").next();
    format!("{}{tables}", head.unwrap_or_default())
}

/// Checks and other outputs read its short columns from memory, so that nobody has its file mapped.
#[test]
fn a_table_that_is_published_as_it_stands_is_one_file() {
    let sandbox = Sandbox::new();
    let rows = (0..500).map(|id| format!("n{id},{id},\"{id}, or {id}\"\n"));
    let table = format!("id,label,note\n{}", rows.collect::<String>());
    sandbox.bundle(Harbour::ID, &Harbour::bundle(&table));
    let pipeline = pipeline(
        "tables:
  labelled: { read: train.csv, columns: { id: inferred, label: integer } }
public:
  train.csv: SELECT * FROM labelled
  ids.csv: SELECT label, id FROM labelled WHERE label < 3
private:
  answers.csv: SELECT id, label + 1 AS next FROM labelled WHERE label > 497
checks:
  ids: SELECT id, count(*) AS n FROM labelled GROUP BY id HAVING count(*) > 1
",
    );
    sandbox.pipeline(Harbour::ID, &pipeline);
    sandbox.run_well(Harbour::ID);
    let prepared = sandbox.prepared(Harbour::ID);
    let read = |path: &str| fs::read_to_string(prepared.join(path)).expect("a file");
    assert_eq!(read("public/train.csv"), table);
    assert_eq!(read("public/ids.csv"), "label,id\n0,n0\n1,n1\n2,n2\n");
    assert_eq!(read("private/answers.csv"), "id,next\nn498,499\nn499,500\n");
    let links = |path: &str| fs::metadata(prepared.join(path)).expect("a file").nlink();
    assert_eq!(links("public/train.csv"), 2);
    // Who reads more of the table later on does so in a file of the store's own.
    let pipeline = pipeline.replace("label < 3", "label < 2 AND note IS NOT NULL");
    sandbox.pipeline(
        Harbour::ID,
        &pipeline.replace("label: integer }", "label: integer, note: text }"),
    );
    sandbox.run_well(Harbour::ID);
    assert_eq!(read("public/train.csv"), table);
    assert_eq!(read("public/ids.csv"), "label,id\n0,n0\n1,n1\n");
}

/// All columns are declared, and one of them is nearly all of the table: the others are kept without it.
#[test]
fn a_long_column_is_left_on_the_disk() {
    let sandbox = Sandbox::new();
    let note = "long, ".repeat(60);
    let rows = (0..500).map(|id| format!("n{id},{id},\"{note}\"\n"));
    let table = format!("id,label,note\n{}", rows.collect::<String>());
    sandbox.bundle(Harbour::ID, &Harbour::bundle(&table));
    let pipeline = pipeline(
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
    sandbox.pipeline(Harbour::ID, &pipeline);
    sandbox.run_well(Harbour::ID);
    let prepared = sandbox.prepared(Harbour::ID);
    let read = |path: &str| fs::read_to_string(prepared.join(path)).expect("a file");
    assert_eq!(read("public/train.csv"), table);
    assert_eq!(read("public/ids.csv"), "label,id\n498,n498\n499,n499\n");
    assert_eq!(read("private/answers.csv"), "sum\n124750\n");
    let links = fs::metadata(prepared.join("public/train.csv"));
    assert_eq!(links.expect("a file").nlink(), 2, "it was mapped");
}

/// The only column that is kept in memory may have missing cells, which the only field of a row is marked for.
#[test]
fn a_missing_cell_of_a_single_column_stays_missing() {
    let sandbox = Sandbox::new();
    let table = "id,note\na,\"1, 2\"\n,3\n\"x, \"\"y\"\"\",\n";
    sandbox.bundle(Harbour::ID, &Harbour::bundle(table));
    let pipeline = pipeline(
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
    sandbox.pipeline(Harbour::ID, &pipeline);
    sandbox.run_well(Harbour::ID);
    let prepared = sandbox.prepared(Harbour::ID);
    for (path, expected) in [
        ("public/train.csv", table),
        ("public/id.csv", "id\na\n\"\"\n\"x, \"\"y\"\"\"\n"),
        ("public/ids.csv", "id,seven\na,7\n,7\n\"x, \"\"y\"\"\",7\n"),
        (
            "public/quoted.csv",
            "\"seven\",\"id\"\n7,\"a\"\n7,\"\"\n7,\"x, \"\"y\"\"\"\n",
        ),
        ("private/missing.csv", "n\n1\n"),
    ] {
        let found = fs::read_to_string(prepared.join(path)).expect("a file");
        assert_eq!(found, expected, "{path}");
    }
}
