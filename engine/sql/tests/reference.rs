//! docs/reference/functions.md lists the functions of `list.txt`, and the examples of scalar functions run.
//!
//! `UPDATE=1` writes the tables between two comments of the page. All other sections are written by hand.

use std::fmt::Write as _;
use std::path::PathBuf;

use prep_sql::QueryLimits;

use crate::support::{Tables, values};

const START: &str = "<!-- The tables are printed by the test `reference` of prep-sql. -->\n";
const END: &str = "<!-- end of the tables -->\n";

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

async fn run(example: &str) {
    let text = format!("SELECT {example} AS v");
    let limits = QueryLimits::with_memory(64 << 20);
    let batches = values(&text, &Tables::new(), &limits).await;
    let rows = batches.unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(rows[0].num_rows(), 1, "{text}");
}

async fn tables() -> String {
    let list = std::fs::read_to_string(path("src/functions/list.txt")).expect("the list");
    let (_, list) = list.split_once("\n\n").expect("a head");
    let mut page = String::new();
    let mut is_table = false;
    for line in list.lines() {
        let fields: Vec<&str> = line.split(" | ").collect();
        let [kind, names, call, meaning, example] = fields.as_slice() else {
            is_table &= line.is_empty();
            let heading = line
                .strip_prefix("## ")
                .map(|heading| format!("### {heading}"));
            let _ = writeln!(page, "{}", heading.as_deref().unwrap_or(line));
            continue;
        };
        if !is_table {
            page.push_str("| function | result | example |\n|---|---|---|\n");
            is_table = true;
        }
        let other = names.split_once(" = ").map(|(_, other)| {
            let other = other.split(", ").map(|name| format!("`{name}`"));
            format!(" Also {}.", other.collect::<Vec<_>>().join(", "))
        });
        let calls = call.split("), ").collect::<Vec<_>>().join(")`, `");
        if *kind == "scalar" {
            run(example).await;
        }
        let other = other.unwrap_or_default();
        let _ = writeln!(page, "| `{calls}` | {meaning}{other} | `{example}` |");
    }
    page
}

#[tokio::test]
async fn the_reference_lists_all_functions() {
    let page = path("../../docs/reference/functions.md");
    let text = std::fs::read_to_string(&page).expect("the page");
    let (before, rest) = text.split_once(START).expect("the start of the tables");
    let (_, after) = rest.split_once(END).expect("the end of the tables");
    let expected = format!(
        "{before}{START}\n{}\n\n{END}{after}",
        tables().await.trim_end()
    );
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&page, &expected).expect("written");
    }
    assert!(
        text == expected || std::env::var_os("UPDATE").is_some(),
        "run UPDATE=1 cargo test -p prep-sql reference"
    );
}
