//! The vocabulary, the parser, the schema, the reference and the splits agree.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

use std::collections::BTreeSet;
use std::path::Path;

use prep_spec::words::{self, Section};
use serde_json::{Value, json};

/// A pipeline with one section written out, `KEYS` standing for its keys; where that section is in the schema.
const PLACES: &[(&str, &str)] = &[
    ("", "KEYS"),
    ("/properties/bundle", "bundle:\n  KEYS"),
    ("/properties/variants", "variants:\n  KEYS"),
    (
        "/$defs/table/anyOf/1",
        "tables:\n  t:\n    read: a.csv\n    KEYS",
    ),
    (
        "/$defs/table/anyOf/2",
        "tables:\n  t:\n    files: '*'\n    KEYS",
    ),
    (
        "/$defs/table/anyOf/3",
        "tables:\n  t:\n    text_lines: t\n    KEYS",
    ),
    (
        "/$defs/table/anyOf/4",
        "tables:\n  t:\n    pixels: t\n    KEYS",
    ),
    (
        "/$defs/table/anyOf/5",
        "tables:\n  t:\n    tfrecords: t\n    KEYS",
    ),
    (
        "/$defs/output/anyOf/1",
        "public:\n  a:\n    csv: SELECT 1\n    KEYS",
    ),
    (
        "/$defs/output/anyOf/2",
        "public:\n  a:\n    json: SELECT 1\n    KEYS",
    ),
    (
        "/$defs/output/anyOf/3",
        "public:\n  a:\n    parquet: SELECT 1\n    KEYS",
    ),
    (
        "/$defs/output/anyOf/4",
        "public:\n  a:\n    npy: SELECT 1\n    KEYS",
    ),
    (
        "/$defs/output/anyOf/5",
        "public:\n  a:\n    lines: SELECT 1\n    KEYS",
    ),
    (
        "/$defs/output/anyOf/6",
        "public:\n  a:\n    copy: a\n    KEYS",
    ),
    (
        "/$defs/output/anyOf/7",
        "public:\n  a/:\n    empty: true\n    KEYS",
    ),
    (
        "/$defs/output/anyOf/8",
        "public:\n  a:\n    zip: {}\n    KEYS",
    ),
    (
        "/$defs/output/anyOf/9",
        "public:\n  a:\n    zip_stored: {}\n    KEYS",
    ),
    (
        "/$defs/output/anyOf/10",
        "public:\n  a:\n    tar: {}\n    KEYS",
    ),
    (
        "/$defs/output/anyOf/11",
        "public:\n  a:\n    7z: {}\n    KEYS",
    ),
];

fn schema() -> Value {
    prep_spec::schema::schema(&json!({
        "type": "object",
        "properties": { "metric": { "$ref": "#/$defs/metric" } },
        "required": ["metric"],
        "$defs": { "metric": { "type": "string" } },
    }))
}

/// The keys that the parser names when it meets one that it does not know.
fn accepted(text: &str) -> BTreeSet<String> {
    let found = prep_spec::load("id", "x.yaml", text, "v1").unwrap_err();
    let unknown = found.iter().find(|one| one.code == "unknown-key");
    let help = unknown.and_then(|one| one.help.clone()).expect(text);
    let list = help.strip_prefix("its keys are ").expect(&help).to_owned();
    let names = list.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

fn properties(schema: &Value, pointer: &str) -> BTreeSet<String> {
    let section = schema.pointer(pointer).expect(pointer);
    assert_eq!(section["additionalProperties"], json!(false), "{pointer}");
    let properties = section["properties"].as_object().expect(pointer);
    properties.keys().cloned().collect()
}

#[test]
fn the_schema_has_the_keys_that_the_parser_accepts() {
    let schema = schema();
    let mut seen = 0;
    for (pointer, text) in PLACES {
        let text = text.replace("KEYS", "qqqqqqqqqqqq: 1");
        assert_eq!(accepted(&text), properties(&schema, pointer), "{pointer}");
        seen += 1;
    }
    for (index, method) in words::METHODS.iter().enumerate() {
        let text = format!("split:\n  method: {}\n  qqqqqqqqqqqq: 1", method.name);
        let pointer = format!("/$defs/split/oneOf/{index}");
        assert_eq!(accepted(&text), properties(&schema, &pointer));
        seen += 1;
    }
    // Every closed object was looked at; `grade` and a variant's parts are the two that are not the parser's.
    assert_eq!(closed_objects(&schema), seen + 2);
}

fn closed_objects(schema: &Value) -> usize {
    let own = usize::from(schema.get("additionalProperties") == Some(&json!(false)));
    let inner: usize = match schema {
        Value::Object(members) => members.values().map(closed_objects).sum(),
        Value::Array(items) => items.iter().map(closed_objects).sum(),
        _ => 0,
    };
    own + inner
}

#[test]
fn references_in_the_schema_lead_somewhere() {
    fn walk(whole: &Value, part: &Value) {
        if let Some(target) = part.get("$ref").and_then(Value::as_str) {
            let pointer = target.strip_prefix('#').unwrap();
            assert!(whole.pointer(pointer).is_some(), "{target}");
        }
        match part {
            Value::Object(members) => members.values().for_each(|one| walk(whole, one)),
            Value::Array(items) => items.iter().for_each(|one| walk(whole, one)),
            _ => {}
        }
    }
    let schema = schema();
    walk(&schema, &schema);
    assert_eq!(
        schema["$defs"]["grade"]["required"],
        json!(["answers", "sample", "metric"])
    );
}

/// Faults that an example cannot have, whatever stands around it.
const SHAPE: &[&str] = &[
    "unknown-key",
    "missing-key",
    "duplicate-key",
    "wrong-type",
    "unknown-word",
    "bad-md5",
    "bad-path",
    "bad-glob",
    "bad-name",
    "bad-parameter",
    "unknown-method",
    "sql-syntax",
    "not-a-select",
    "yaml-syntax",
    "no-effect",
    "unknown-format",
    "folder-or-file",
    "conflicting-keys",
    "empty-list",
];

fn shape_faults(text: &str) {
    if let Err(found) = prep_spec::load("id", "x.yaml", text, "v1") {
        let faults: Vec<_> = found
            .iter()
            .filter(|one| SHAPE.contains(&one.code))
            .collect();
        assert!(faults.is_empty(), "{text}\n{found}");
    }
}

const HEAD: &str = "name: X\ncategory: C\nbundle: { kaggle: x }\n";

#[test]
fn every_example_is_right() {
    let keys = |section: &Section, indent: &str| {
        let lines = section
            .keys
            .iter()
            .map(|key| format!("{indent}{}: {}\n", key.name, key.example));
        lines.collect::<String>()
    };
    let whole = keys(&words::PIPELINE, "");
    shape_faults(&whole);
    shape_faults(&format!(
        "name: X\ncategory: C\nbundle:\n{}",
        keys(&words::BUNDLE, "  ")
    ));
    shape_faults(&format!("{HEAD}grade:\n{}", keys(&words::GRADE, "  ")));
    let (base, _) = whole.split_once("variants:").unwrap();
    let variants = keys(&words::VARIANTS, "  ");
    shape_faults(&format!("{base}variants:\n{variants}"));
    for table in words::TABLES {
        // The example of `format` is not one for CSV, which the other keys are about.
        let text = keys(table, "    ").replace("    format: json_lines\n", "");
        shape_faults(&format!("{HEAD}tables:\n  t:\n{text}"));
    }
    for output in words::OUTPUTS {
        let path = if matches!(output.head(), "copy" | "empty") {
            "x/"
        } else {
            "x"
        };
        shape_faults(&format!(
            "{HEAD}public:\n  {path}:\n{}",
            keys(output, "    ")
        ));
    }
    for method in words::METHODS {
        let grouped = !matches!(method.name, "sample" | "python_sample" | "chunks");
        let group = if grouped { "  group_by: g\n" } else { "" };
        let name = method.name;
        shape_faults(&format!(
            "{HEAD}split:\n  rows: t\n  method: {name}\n{group}{}",
            keys(method, "  ")
        ));
    }
}

/// serde names the fields and variants that it knows.
#[test]
fn methods_are_those_of_the_splits() {
    let names = |tree: Value| -> BTreeSet<String> {
        let error = serde_json::from_value::<prep_splits::Method>(tree).unwrap_err();
        let message = error.to_string();
        let (_, list) = message.split_once("expected").expect(&message);
        list.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    let own = |section: &Section| section.keys.iter().map(|key| key.name.to_owned()).collect();
    let methods: BTreeSet<String> = words::METHODS
        .iter()
        .map(|one| one.name.to_owned())
        .collect();
    assert_eq!(names(json!({ "method": "qqq" })), methods);
    for method in words::METHODS {
        let expected: BTreeSet<String> = own(method);
        assert_eq!(
            names(json!({ "method": method.name, "qqq": 1 })),
            expected,
            "{}",
            method.name
        );
    }
}

#[test]
fn the_checked_in_reference_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/language.md");
    let text = prep_spec::reference::markdown();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == checked_in, "run `UPDATE=1 cargo test -p prep-spec`");
}
