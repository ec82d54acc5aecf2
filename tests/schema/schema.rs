//! Tests that `prep pipeline schema` prints a JSON Schema, which accepts the pipelines that `prep` accepts.
//!
//! Run `cargo test --manifest-path tests/schema/Cargo.toml`.
//! The program under test is `target/release/prep`, or the one in `PREP_BINARY`.

#![cfg(test)]

mod json;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use boon::{Compiler, Schemas};
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value, json};

fn path(inner: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(inner)
}

fn program() -> PathBuf {
    let program = std::env::var_os("PREP_BINARY").map(PathBuf::from);
    program.unwrap_or_else(|| path("target/release/prep"))
}

fn schema() -> Value {
    let output = Command::new(program()).args(["pipeline", "schema"]).output().expect("the program");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Returns the rejected texts with reasons. Also checks the schema against the metaschema.
fn rejected_by_schema(texts: &[(String, String)]) -> Vec<String> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("prep.json", schema()).unwrap();
    let compiled = compiler
        .compile("prep.json", &mut schemas)
        .unwrap_or_else(|error| panic!("the schema is not valid: {error:#}"));
    let check = |(name, text): &(String, String)| {
        let document = yaml(text);
        let error = schemas.validate(&document, compiled).err()?;
        Some(format!("{name}: {error:#}"))
    };
    texts.iter().filter_map(check).collect()
}

/// Converts YAML to JSON as a language server of an editor does.
fn yaml(text: &str) -> Value {
    let documents = Yaml::load_from_str(text).unwrap();
    value(documents.first().expect("a document"))
}

fn value(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(value)) => json!(value),
        Yaml::Value(Scalar::Integer(value)) => json!(value),
        Yaml::Value(Scalar::FloatingPoint(value)) => json!(value.into_inner()),
        Yaml::Value(Scalar::String(value)) => json!(value),
        Yaml::Sequence(items) => items.iter().map(value).collect(),
        Yaml::Mapping(entries) => {
            let member = |(key, of): (&Yaml<'_>, &Yaml<'_>)| {
                let key = match value(key) {
                    Value::String(key) => key,
                    other => other.to_string(),
                };
                (key, value(of))
            };
            Value::Object(entries.iter().map(member).collect::<Map<_, _>>())
        }
        other => panic!("{other:?}"),
    }
}

fn read(path: PathBuf) -> (String, String) {
    let text = fs::read_to_string(&path).unwrap();
    (path.display().to_string(), text)
}

#[test]
fn built_in_pipelines_are_valid() {
    let directories = fs::read_dir(path("pipelines")).unwrap();
    let files = directories.map(|directory| directory.unwrap().path().join("pipeline.yaml"));
    let texts: Vec<_> = files.filter(|file| file.is_file()).map(read).collect();
    assert_eq!(texts.len(), 82);
    assert_eq!(rejected_by_schema(&texts), [""; 0]);
}

/// Together, these pipelines contain every kind of table and output.
#[test]
fn pipelines_of_the_tests_are_valid() {
    let mut texts: Vec<_> = ["everything", "small"]
        .iter()
        .map(|name| read(path(&format!("engine/spec/tests/accept/{name}.yaml"))))
        // In these files, the metric is only a placeholder.
        .map(|(name, text)| (name, text.replace("metric: rmse", "metric: { accuracy: y }")))
        .collect();
    for directory in fs::read_dir(path("tests/end_to_end/kinds")).unwrap() {
        let file = directory.unwrap().path().join("pipeline.yaml");
        if file.is_file() {
            texts.push(read(file));
        }
    }
    assert!(texts.len() > 8, "{}", texts.len());
    assert_eq!(rejected_by_schema(&texts), [""; 0]);
}

#[test]
fn invalid_pipelines_are_rejected() {
    let (_, sound) = read(path("pipelines/spooky-author-identification/pipeline.yaml"));
    let wrong: Vec<_> = [
        ("seed: 0", "sed: 0"),
        ("log_loss", "logloss"),
        ("list: authors", "lists: authors"),
        ("answers: private", "answer: private"),
        ("same_rows", "same_row"),
    ]
    .iter()
    .map(|(from, to)| {
        assert!(sound.contains(from), "{from}");
        ((*to).to_owned(), sound.replace(from, to))
    })
    .collect();
    assert_eq!(rejected_by_schema(&wrong).len(), wrong.len());
}
