//! The vocabulary, the parser, the schema, the reference and the splits are consistent.

use std::collections::BTreeSet;
use std::path::Path;

use prep_spec::Vocabulary;
use prep_spec::words::{self, KeyType, KindSpec, Produces, Section, SectionKey};
use serde_json::{Value, json};

fn vocabulary() -> &'static Vocabulary {
    prep_steps::vocabulary()
}

/// Returns pipelines in which `KEYS` stands for the keys of one section, each with the JSON pointer of that section in the
/// schema.
fn places() -> Vec<(String, String)> {
    let mut places = vec![
        (String::new(), "KEYS".to_owned()),
        (
            "/properties/bundle".to_owned(),
            "bundle:\n  KEYS".to_owned(),
        ),
        (
            "/properties/sources/additionalProperties".to_owned(),
            "sources:\n  s1:\n    KEYS".to_owned(),
        ),
        (
            "/properties/variants".to_owned(),
            "variants:\n  KEYS".to_owned(),
        ),
    ];
    let optional = |key: &&SectionKey| !key.required;
    for form in vocabulary().tables.iter().chain(&vocabulary().outputs) {
        let methods = form.methods.iter().flat_map(|method| method.keys);
        if form
            .section
            .keys
            .iter()
            .chain(methods)
            .any(|key| optional(&key))
        {
            places.push((
                format!("/$defs/defaults/properties/{}", form.head()),
                format!("defaults:\n  {}:\n    KEYS", form.head()),
            ));
        }
    }
    for (section, definition, forms) in [
        ("tables", "table", &vocabulary().tables),
        ("public", "output", &vocabulary().outputs),
    ] {
        let mut index = 0;
        for form in forms {
            for method in methods(form) {
                index += 1;
                let head = form.section.keys[0].example;
                let method = method.map_or(String::new(), |method| {
                    format!("    method: {}\n", method.name)
                });
                let names = names(form);
                places.push((
                    format!("/$defs/{definition}/anyOf/{index}"),
                    format!(
                        "{section}:\n  {names}:\n    {}: {head}\n{method}    KEYS",
                        form.head()
                    ),
                ));
            }
        }
    }
    places
}

fn methods(form: &KindSpec) -> Vec<Option<&'static Section>> {
    match form.methods {
        [] => vec![None],
        methods => methods.iter().map(|method| Some(*method)).collect(),
    }
}

fn names(form: &KindSpec) -> &'static str {
    match form.makes {
        Produces::Parts(_) => "x, y",
        Produces::Table(_) | Produces::Same(_) | Produces::Unpivoted(_) => "x",
        Produces::Folder | Produces::Empty | Produces::Like(_) => "x/",
        Produces::File(_) => "x.dat",
    }
}

fn schema() -> Value {
    prep_spec::schema::schema(
        vocabulary(),
        &json!({
            "type": "object",
            "properties": { "metric": { "$ref": "#/$defs/metric" } },
            "required": ["metric"],
            "$defs": { "metric": { "type": "string" } },
        }),
    )
}

/// Returns the keys that the help for the unknown key in `text` lists.
fn accepted(text: &str) -> BTreeSet<String> {
    let found = prep_spec::load(vocabulary(), "id", "x.yaml", text, "v1").unwrap_err();
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
    let places = places();
    for (pointer, text) in &places {
        let text = text.replace("KEYS", "qqqqqqqqqqqq: 1");
        assert_eq!(accepted(&text), properties(&schema, pointer), "{pointer}");
    }
    // All closed objects (`additionalProperties: false`) are checked except four: `grade`, parts of a variant, kinds of
    // `defaults`, and `{ list: NAME }`.
    assert_eq!(closed_objects(&schema), places.len() + 4);
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
fn references_in_the_schema_can_be_resolved() {
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
        json!(["answers", "metric"])
    );
}

/// Errors that an example must not have, wherever it is used.
const STRUCTURE_ERRORS: &[&str] = &[
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

fn assert_no_structure_error(text: &str) {
    if let Err(found) = prep_spec::load(vocabulary(), "id", "x.yaml", text, "v1") {
        let faults: Vec<_> = found
            .iter()
            .filter(|one| STRUCTURE_ERRORS.contains(&one.code))
            .collect();
        assert!(faults.is_empty(), "{text}\n{found}");
    }
}

const HEAD: &str = "name: X\ncategory: C\nbundle: { kaggle: x }\n";

#[test]
fn every_example_is_valid() {
    let keys = |section: &Section, indent: &str| {
        let lines = section
            .keys
            .iter()
            .map(|key| format!("{indent}{}: {}\n", key.name, key.example));
        lines.collect::<String>()
    };
    let whole = keys(&words::PIPELINE, "");
    assert_no_structure_error(&whole);
    assert_no_structure_error(&format!(
        "name: X\ncategory: C\nbundle:\n{}",
        keys(&words::BUNDLE, "  ")
    ));
    assert_no_structure_error(&format!("{HEAD}grade:\n{}", keys(&words::GRADE, "  ")));
    let (base, _) = whole.split_once("variants:").unwrap();
    let variants = keys(&words::VARIANTS, "  ");
    assert_no_structure_error(&format!("{base}variants:\n{variants}"));
    for (section, forms) in [
        ("tables", &vocabulary().tables),
        ("public", &vocabulary().outputs),
    ] {
        for form in forms {
            for method in methods(form) {
                // Some keys exclude each other. Therefore each optional key is tested alone with the required keys.
                let all: Vec<&SectionKey> = form.keys(method).collect();
                for one in &all {
                    let used = all.iter().filter(|key| {
                        let needed = key.required || is_needed_with(key, one);
                        needed || key.name == one.name
                    });
                    let lines = used.map(|key| {
                        let example = match (&key.value, method) {
                            (KeyType::Method, Some(method)) => method.name,
                            _ if key.name == "format" && one.name != "format" => match one.name {
                                "at" | "encoding" | "dialect" => "json",
                                "chunksize" => "json_lines",
                                _ => "csv",
                            },
                            _ => key.example,
                        };
                        format!("    {}: {example}\n", key.name)
                    });
                    let text = lines.collect::<String>();
                    let names = names(form);
                    assert_no_structure_error(&format!("{HEAD}{section}:\n  {names}:\n{text}"));
                }
            }
        }
    }
}

/// Returns whether `key` must be set in a test of the optional key `other`.
fn is_needed_with(key: &SectionKey, other: &SectionKey) -> bool {
    match key.name {
        "seed" => other.name != "after",
        "format" => matches!(other.name, "at" | "encoding" | "dialect" | "chunksize"),
        "dialect" => other.name == "chunksize",
        "from" => !matches!(other.name, "test_size" | "train_size" | "ties"),
        "test_size" => other.name == "ties",
        _ => false,
    }
}

#[test]
fn the_checked_in_reference_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/language.md");
    let text = prep_spec::reference::markdown(vocabulary());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == checked_in, "run `UPDATE=1 cargo test -p prep-spec`");
}
