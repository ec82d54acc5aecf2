//! Random tables in complete pipelines. The results must equal those of the original libraries, which the Python
//! scripts in this directory recorded.

mod columns;
mod documents;
mod draws;
mod parquet;
mod splits;

use serde_json::Value;

use crate::support::{Archive, Sandbox};

fn cases(text: &str) -> Vec<Value> {
    let cases = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    cases.collect()
}

fn install(sandbox: &Sandbox, id: &str, files: &[(String, &str)], pipeline: &str) {
    let mut archive = Archive::new();
    for (name, content) in files {
        archive = archive.file(name, content);
    }
    sandbox.bundle(id, &archive.bytes());
    let head = format!("name: {id}\ncategory: Tabular\nbundle: {{ kaggle: {id} }}\n");
    sandbox.pipeline(id, &(head + pipeline));
}

/// Returns the value of `columns:` for a recorded table, on one line.
fn columns(types: &Value) -> String {
    let types = types.as_object().expect("types").iter();
    let columns = types.map(|(name, kind)| format!("{name}: {}", kind.as_str().expect("a type")));
    format!("{{ {} }}", columns.collect::<Vec<_>>().join(", "))
}
