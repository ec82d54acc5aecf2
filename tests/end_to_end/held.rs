//! Tests of large tables that `prep` keeps in memory and not in the cache, because no output is equal to them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::support::{Archive, CommandResult, Harbour, Sandbox};

const ROWS: usize = 140_000;

/// Returns a table of about 20 MB. `write` formats each row.
fn table(head: &str, write: impl Fn(usize, &str) -> String) -> String {
    let note = "laden with coal and bound for the north ".repeat(3);
    let rows = (0..ROWS).map(|id| write(id, &note));
    format!("{head}\n{}", rows.collect::<String>())
}

/// Returns a large table that pandas would print unchanged.
pub fn long_table() -> String {
    table("id,tons,docked", |id, note| {
        format!("{id},{note},{}\n", id % 2)
    })
}

fn sandbox(pipeline: &str, file: &str, table: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let bundle = Archive::new().file(file, table);
    sandbox.bundle(Harbour::ID, &bundle.bytes());
    // Some tables have answers that no metric can score, so the pipeline states that its sample is invalid.
    let stated = "  invalid_sample: made-up answers\n  rules:";
    sandbox.pipeline(Harbour::ID, &pipeline.replace("  rules:", stated));
    sandbox
}

fn run(sandbox: &Sandbox, memory: &str) -> CommandResult {
    let mut command = sandbox.run_command(&[Harbour::ID]);
    CommandResult::of(command.args(["--memory", memory])).code(0)
}

/// With this limit, `prep` has enough free memory to keep the table in memory.
const ENOUGH_MEMORY: &str = "1GB";
/// With this limit, `prep` stores the table in the cache.
const LITTLE_MEMORY: &str = "64MB";

fn bytes_only_in_cache(sandbox: &Sandbox) -> u64 {
    let published = files(&sandbox.data());
    let stored = files(&sandbox.store()).into_iter();
    let only_in_cache = stored.filter(|one| published.iter().all(|other| other.0 != one.0));
    only_in_cache.map(|(_, bytes)| bytes).sum()
}

fn files(directory: &Path) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let entry = entry.expect("an entry");
        let metadata = entry.metadata().expect("metadata");
        match metadata.is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push((metadata.ino(), metadata.len())),
        }
    }
    found
}

#[test]
fn large_table_is_stored_only_in_published_outputs() {
    let table = long_table();
    let in_memory = sandbox(Harbour::PIPELINE, "train.csv", &table);
    run(&in_memory, ENOUGH_MEMORY);
    let only_in_cache = bytes_only_in_cache(&in_memory);
    assert!(only_in_cache < 2_000_000, "{only_in_cache}");
    let stored = sandbox(Harbour::PIPELINE, "train.csv", &table);
    run(&stored, LITTLE_MEMORY);
    assert!(bytes_only_in_cache(&stored) > table.len() as u64);
    let tree = in_memory.tree(Harbour::ID);
    assert_eq!(tree.contents(), stored.tree(Harbour::ID).contents());

    // After a changed query, the step that read the table runs again, because the table was only in memory.
    assert_eq!(in_memory.run_and_count_steps(Harbour::ID), 0);
    let changed = Harbour::PIPELINE.replace("id, 0 AS docked", "id, 1 AS docked");
    in_memory.pipeline(Harbour::ID, &changed);
    let plan = [
        "plan",
        Harbour::ID,
        "--source",
        "source",
        "--skip-verification",
    ];
    in_memory.prep(&plan).code(0).stdout_has(&[
        "table/labelled",
        "its result was kept in memory only, and another step needs it",
        "may run: depends on the result of `table/labelled`",
        "sql changed",
    ]);
    // Five steps run: the table, the sample, the description, `trial` and `publish`.
    assert_eq!(in_memory.run_and_count_steps(Harbour::ID), 5);
    let touched = in_memory.tree(Harbour::ID);
    let touched = touched.touched_since(&tree);
    assert_eq!(
        touched,
        ["public/description.md", "public/sample_submission.csv"]
    );
    in_memory
        .prep(&["cache", "verify"])
        .code(0)
        .stdout_has(&["intact"]);
    in_memory.prep(&["cache", "gc"]).code(0);
    assert_eq!(in_memory.run_and_count_steps(Harbour::ID), 0);
}

/// A table in memory equals the cached table, even if `prep` had to rewrite cells or rows.
#[test]
fn table_in_memory_equals_the_cached_table() {
    let tabs = Harbour::PIPELINE.replace("read: train.csv,", "read: train.tsv,");
    let plain = Harbour::PIPELINE;
    let forms = [
        (
            plain,
            "train.csv",
            table("id,tons,docked", |id, note| {
                format!("{id},\"{note}\",{}\n", id % 2)
            }),
        ),
        // pandas prints these cells differently: a missing cell turns the integers of its column into decimals.
        (
            plain,
            "train.csv",
            table("id,tons,docked", |id, note| {
                let docked = if id == ROWS / 2 {
                    String::new()
                } else {
                    (id % 2).to_string()
                };
                format!("{id},{note},{docked}\n")
            }),
        ),
        // The rewritten rows are longer than the file, because all cells need quotes.
        (
            &tabs,
            "train.tsv",
            table("id\ttons\tdocked", |id, note| {
                format!("{id}\t{},\t{}\n", &note[..note.len() - id % 90], id % 2)
            }),
        ),
    ];
    for (pipeline, file, table) in forms {
        let (in_memory, stored) = (
            sandbox(pipeline, file, &table),
            sandbox(pipeline, file, &table),
        );
        run(&in_memory, ENOUGH_MEMORY);
        run(&stored, LITTLE_MEMORY);
        let (one, other) = (in_memory.tree(Harbour::ID), stored.tree(Harbour::ID));
        assert_eq!(one.contents(), other.contents(), "{file}");
        assert_eq!(one.contents().len(), 7);
    }
}

/// A query returns the table unchanged, so its output is the cached table.
#[test]
fn table_returned_unchanged_by_a_query_is_cached() {
    let table = long_table();
    let pipeline = Harbour::PIPELINE.replace(
        "public:",
        "public:\n  all.csv: SELECT * FROM labelled WHERE id >= 0",
    );
    let sandbox = sandbox(&pipeline, "train.csv", &table);
    run(&sandbox, ENOUGH_MEMORY);
    let all = fs::read_to_string(sandbox.prepared(Harbour::ID).join("public/all.csv"));
    assert!(all.expect("a file") == table, "the table is another");
    let only_in_cache = bytes_only_in_cache(&sandbox);
    assert!(only_in_cache < 2_000_000, "{only_in_cache}");
}

/// `prep` caches tables if the user allows it to delete the bundle.
#[test]
fn tables_of_discarded_bundles_are_cached() {
    let table = long_table();
    let sandbox = sandbox(Harbour::PIPELINE, "train.csv", &table);
    let mut command = sandbox.run_command(&[Harbour::ID]);
    CommandResult::of(command.arg("--discard-bundle")).code(0);
    assert!(bytes_only_in_cache(&sandbox) > table.len() as u64);
}
