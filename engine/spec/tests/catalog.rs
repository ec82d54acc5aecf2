//! The table of all competitions in `docs/pipelines.md` matches the pipelines.
//!
//! `UPDATE=1 cargo test -p prep-spec` updates the table, except the column `lines of Python`, which counts the lines of the
//! benchmark's code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use prep_spec::Pipeline;
use prep_spec::model::{Declaration, Output, Setting, TableOrigin};

const HEAD: &str = "| competition | lines | kinds | lines of Python |\n|---|--:|---|--:|\n";

fn kinds(pipeline: &Pipeline) -> BTreeSet<&'static str> {
    fn outputs(list: &[Output], found: &mut BTreeSet<&'static str>) {
        for output in list {
            declared(&output.declaration, found);
        }
    }
    fn declared(declaration: &Declaration, found: &mut BTreeSet<&'static str>) {
        found.insert(declaration.form.head());
        for (_, setting) in declaration.settings() {
            if let Setting::Outputs(members) = &setting.value {
                outputs(members, found);
            }
        }
    }
    let mut found = BTreeSet::new();
    for table in &pipeline.tables {
        if let TableOrigin::Declared(declaration) = &table.made {
            declared(declaration, &mut found);
        }
    }
    outputs(&pipeline.public, &mut found);
    outputs(&pipeline.private, &mut found);
    found.remove("csv");
    found
}

/// Returns the column `lines of Python` of the table: the cell of each competition.
fn python(page: &str) -> BTreeMap<&str, &str> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ["));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let pairs = cells.filter_map(|cells| Some((cells.first()?.split(']').next()?, *cells.get(3)?)));
    pairs.collect()
}

#[test]
fn the_table_of_all_competitions_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("docs/pipelines.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, after) = page.split_once(HEAD).expect("the page has the table");
    let end = after.find("\n\n").map_or(after.len(), |end| end + 1);
    let python = python(&after[..end]);
    let mut rows = Vec::new();
    let mut lengths = Vec::new();
    for folder in fs::read_dir(root.join("pipelines")).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(text) = fs::read_to_string(folder.join("pipeline.yaml")) else {
            continue;
        };
        let id = folder.file_name().unwrap().to_str().unwrap();
        let file = format!("pipelines/{id}/pipeline.yaml");
        let pipeline = prep_spec::load(prep_steps::vocabulary(), id, &file, &text, "v1").unwrap();
        let kinds: Vec<_> = kinds(&pipeline)
            .into_iter()
            .map(|kind| format!("`{kind}`"))
            .collect();
        let lines = text.lines().count();
        lengths.push(lines);
        let python = python.get(id).unwrap_or(&"");
        let kinds = kinds.join(" ");
        rows.push(format!(
            "| [{id}](../{file}) | {lines} | {kinds} | {python} |\n"
        ));
    }
    rows.sort_unstable();
    lengths.sort_unstable();
    let found = format!("{before}{HEAD}{}{}", rows.concat(), &after[end..]);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap();
    assert!(found == written, "run `UPDATE=1 cargo test -p prep-spec`");
    // The pipeline language exists to keep pipelines short.
    assert!(lengths[lengths.len() / 2] <= 55, "{lengths:?}");
    assert!(
        lengths.last().is_some_and(|most| *most <= 150),
        "{lengths:?}"
    );
}
