//! Validates the JSON of every verb with `docs/reference/json.schema.json`.
//! Also generates `docs/reference/json.md` and `json-parts.md` from that file (`UPDATE=1` writes the pages).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use boon::{Compiler, Schemas};
use serde_json::Value;

use crate::{path, program};

const FILE: &str = "docs/reference/json.schema.json";
const PARTS: &str = "docs/reference/json-parts.md";
const ID: &str = "spaceship-titanic";

/// Pairs of a definition and a command whose output it describes. The commands run in a demo's directory.
const CALLS: &[(&str, &str)] = &[
    ("error", "run"),
    ("error", "run nowhere"),
    ("error", "run --none-such"),
    ("run", "run spaceship-titanic --skip-verification"),
    ("run", "run aerial-cactus-identification --no-download"),
    ("plan", "plan --lite --no-download"),
    ("why", "why spaceship-titanic --skip-verification"),
    ("why", "why spaceship-titanic --data-dir empty"),
    ("why", "why leaf-classification --data-dir empty"),
    ("plan", "plan spaceship-titanic --data-dir empty"),
    ("list", "list"),
    ("list", "list --long"),
    (
        "fetch",
        "fetch spaceship-titanic --skip-bundle-verification",
    ),
    ("fetch_list", "fetch --list spaceship-titanic --no-download"),
    ("remove", "remove spaceship-titanic --dry-run"),
    (
        "grade",
        "grade spaceship-titanic data/spaceship-titanic/prepared/public/sample_submission.csv",
    ),
    ("grade_list", "grade submissions.jsonl -o reports"),
    ("grade_list", "grade broken.jsonl -o reports"),
    ("grade_thresholds", "grade spaceship-titanic"),
    (
        "grade_thresholds",
        "grade --leaderboard board.csv --score 0.5",
    ),
    (
        "validate",
        "validate spaceship-titanic data/spaceship-titanic/prepared/public/sample_submission.csv",
    ),
    ("summarize", "summarize reports"),
    ("audit", "audit spaceship-titanic --source bundles"),
    ("diff", "diff spaceship-titanic v1 fixed"),
    ("leaks", "leaks spaceship-titanic AI4Code"),
    ("digest", "digest"),
    ("report", "report -o report.html"),
    ("export", "export spaceship-titanic -o copy"),
    (
        "export_harbor",
        "export --layout harbor spaceship-titanic -o tasks",
    ),
    ("seal_new_identity", "seal --new-identity grader.txt"),
    ("pipeline_new", "pipeline new spaceship-titanic -o drafts"),
    (
        "pipeline_check",
        "pipeline check drafts/spaceship-titanic/pipeline.yaml nowhere.yaml",
    ),
    ("pipeline_show", "pipeline show"),
    (
        "pipeline_show",
        "pipeline show spaceship-titanic train --rows 2 --skip-verification",
    ),
    ("pipeline_graph", "pipeline graph spaceship-titanic"),
    (
        "pipeline_fmt",
        "pipeline fmt --check drafts/spaceship-titanic/pipeline.yaml",
    ),
    ("pack_add", "pack add lab"),
    ("pack_list", "pack list"),
    ("pack_check", "pack check lab --source bundles"),
    ("pack_remove", "pack remove lab"),
    ("remote_key_new", "remote key new own"),
    ("remote_key_list", "remote key list"),
    (
        "grade",
        "grade spaceship-titanic data/spaceship-titanic/prepared/public/sample_submission.csv --sign own -o signed",
    ),
    (
        "verify_report",
        "verify-report signed --key own --log data/grades.jsonl",
    ),
    (
        "seal",
        "seal aerial-cactus-identification --for age1nkvsp79zztrtqfq579ufre6ne5g89fz8pv4ykapdfqlsnvg45ckss2lzuk",
    ),
    ("list", "list aerial-cactus-identification"),
    ("cache_stat", "cache stat"),
    ("cache_stat", "cache stat --cache-dir nowhere"),
    ("cache_verify", "cache verify"),
    (
        "cache_verify_rerun",
        "cache verify --rerun spaceship-titanic --skip-verification",
    ),
    ("cache_log", "cache log"),
    ("cache_gc", "cache gc --dry-run"),
    ("doctor", "doctor --offline"),
    ("config", "config"),
];

/// Parts of other definitions, and definitions whose commands need a server.
const UNTESTED_DEFINITIONS: [&str; 26] = [
    "place",
    "error_object",
    "failure",
    "failed",
    "stated_reason",
    "reason",
    "change",
    "invalid_reason",
    "step_failure",
    "borrowed",
    "download",
    "trial",
    "audit_report",
    "key_record",
    "prepared",
    "grade_report",
    "pack",
    "finding",
    "amount",
    "freeable",
    "unpublished",
    "tree_digest",
    "repeated_run",
    "checksums",
    "fetch_check_rules",
    "remote_push",
];

fn schema() -> Value {
    let text = fs::read_to_string(path(FILE)).expect("the schema");
    serde_json::from_str(&text).expect("JSON")
}

fn call(dir: &Path, words: &str) -> String {
    let mut command = Command::new(program());
    let output = command
        .args(words.split(' '))
        .arg("--json")
        .current_dir(dir)
        .env_clear()
        .env("HOME", dir)
        .output();
    let output = output.expect("the program");
    // JSON has no NaN and no infinities. `prep` prints them as Python does.
    let text = String::from_utf8(output.stdout).expect("a text");
    text.replace(": NaN", ": null")
        .replace(": Infinity", ": null")
}

#[test]
fn output_of_every_verb_matches_the_schema() {
    let dir = std::env::temp_dir().join(format!("prep-json-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("a directory");
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler
        .add_resource("json.schema.json", schema())
        .expect("the schema");
    let mut wrong = Vec::new();
    let mut check = |name: &str, words: &str, text: &str| {
        let place = format!("json.schema.json#/$defs/{name}");
        let compiled = compiler.compile(&place, &mut schemas).expect(name);
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            wrong.push(format!("prep {words}: no JSON: {text}"));
            return;
        };
        if let Err(error) = schemas.validate(&value, compiled) {
            wrong.push(format!("prep {words}: {error:#}"));
        }
    };
    let text = call(&dir, "demo -o demo");
    check("demo", "demo", &text);
    let demo = dir.join("demo");
    fs::write(demo.join("board.csv"), "score\n0.9\n0.1\n").expect("a file");
    let broken = format!(
        "{{\"competition_id\": \"{ID}\", \"submission_path\": \"a.csv\"}}\n{{\"competition_id\": \"AI4Code\", \"submission_path\": \"a.csv\"}}\n"
    );
    fs::write(demo.join("broken.jsonl"), broken).expect("a file");
    let pack = demo.join("lab");
    fs::create_dir_all(pack.join(ID)).expect("a directory");
    let text =
        format!("name: lab\nversion: 1\nsets: {{ all: [{ID}] }}\ncompetitions: {{ {ID}: {{}} }}\n");
    fs::write(pack.join("pack.yaml"), text).expect("a file");
    let pipeline = path("pipelines").join(ID).join("pipeline.yaml");
    fs::copy(pipeline, pack.join(ID).join("pipeline.yaml")).expect("a file");
    for (name, words) in CALLS {
        check(name, words, &call(&demo, words));
    }
    let _ = fs::remove_dir_all(&dir);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let named: BTreeSet<&str> = CALLS
        .iter()
        .map(|(name, _)| *name)
        .chain(UNTESTED_DEFINITIONS)
        .chain(["demo"])
        .collect();
    let schema = schema();
    let defined = schema["$defs"].as_object().expect("definitions").keys();
    let defined: BTreeSet<&str> = defined.map(String::as_str).collect();
    assert_eq!(named, defined);
}

/// Values of any type: the fields of key records, which have no common type.
const UNTYPED: [&str; 3] = [
    "change.properties.new",
    "change.properties.old",
    "key_record.properties.params.additionalProperties",
];

/// Appends the places of parts without a type, objects without members, and lists without elements.
fn collect_untyped(place: &str, value: &Value, found: &mut Vec<String>) {
    let has_type = |name: &str| {
        value["type"] == name
            || value["type"]
                .as_array()
                .is_some_and(|all| all.contains(&name.into()))
    };
    let is_any = value["type"].is_null() && value["$ref"].is_null() && value["anyOf"].is_null();
    let has_members = value["properties"].is_object() || value["additionalProperties"].is_object();
    if is_any || has_type("object") && !has_members || has_type("array") && value["items"].is_null()
    {
        found.push(place.to_owned());
    }
    let inner = |name: &str| (format!("{place}.{name}"), value[name].clone());
    let properties = value["properties"].as_object().into_iter().flatten();
    let properties =
        properties.map(|(name, member)| (format!("{place}.properties.{name}"), member.clone()));
    let parts = ["items", "additionalProperties"].map(inner);
    let parts = parts.into_iter().filter(|(_, part)| part.is_object());
    let any_of = value["anyOf"].as_array().into_iter().flatten();
    let any_of = any_of.map(|member| (place.to_owned(), member.clone()));
    for (place, part) in properties.chain(parts).chain(any_of) {
        collect_untyped(&place, &part, found);
    }
}

#[test]
fn every_part_of_the_schema_has_a_type() {
    let mut found = Vec::new();
    for (name, definition) in schema()["$defs"].as_object().expect("definitions") {
        collect_untyped(name, definition, &mut found);
    }
    found.sort();
    assert_eq!(found, UNTYPED);
}

/// Returns the page about the verbs, and the page about parts that several verbs share.
fn pages(schema: &Value) -> [(&'static str, String); 2] {
    let verbs = "# JSON output\n\n\
        This page is generated from [json.schema.json](json.schema.json), a JSON Schema with a definition for each verb. A\n\
        test compares the output of the program with the schema. [json-parts.md](json-parts.md) describes parts that several\n\
        verbs share.\n\n\
        With `--json`, each verb prints one JSON document on stdout. `competitions` contains one object per competition, with\n\
        its `id`. If a competition fails, its object has an `error` instead of the result. If the entire command fails, the\n\
        document is `{\"error\": {...}}`. Messages for people go to stderr, and the exit code is the same as without `--json`.\n\n\
        Every reason, such as why a step runs or why a submission is invalid, is an object with `kind`, `message` and further\n\
        members that depend on the kind. Only `not_comparable_because` is a list of texts, as in grading reports. The names of\n\
        members in `*` depend on the data.\n"
        .to_owned();
    let parts = "# Parts of the JSON output\n\n\
        This page is generated from [json.schema.json](json.schema.json). It describes parts that the output of several verbs\n\
        contains. [json.md](json.md) describes the output of each verb.\n"
        .to_owned();
    let mut pages = [("docs/reference/json.md", verbs), (PARTS, parts)];
    for (name, one) in schema["$defs"].as_object().expect("definitions") {
        let title = one["title"].as_str().expect(name);
        let is_verb = title.starts_with("prep ") || name == "error";
        let (_, text) = &mut pages[usize::from(!is_verb)];
        let description = one["description"].as_str().expect(name);
        text.push_str(&format!(
            "\n## {title}\n\n{description} (`#/$defs/{name}`)\n"
        ));
        text.push_str("\n| member | type | meaning |\n|---|---|---|\n");
        let values = &one["additionalProperties"];
        if values.is_object() {
            text.push_str(&format!("| `*` | {} | |\n", types(schema, values)));
        }
        rows(schema, one, "", text);
    }
    pages
}

/// Appends a table row per member, including members of nested objects and of objects in lists.
fn rows(schema: &Value, object: &Value, prefix: &str, text: &mut String) {
    let required = object["required"].as_array().cloned().unwrap_or_default();
    for (name, member) in object["properties"].as_object().into_iter().flatten() {
        let types = types(schema, member);
        let meaning = member["description"].as_str().unwrap_or_default();
        let values = member["enum"].as_array().map(|all| {
            let all: Vec<String> = all
                .iter()
                .filter_map(Value::as_str)
                .map(|one| format!("`{one}`"))
                .collect();
            format!(": {}", all.join(", "))
        });
        let optional = if required.contains(&name.as_str().into()) {
            ""
        } else {
            " (optional)"
        };
        text.push_str(&format!(
            "| `{prefix}{name}` | {types} | {meaning}{}{optional} |\n",
            values.unwrap_or_default()
        ));
        rows(schema, member, &format!("{prefix}{name}."), text);
        let items = &member["items"];
        let items = items["anyOf"]
            .as_array()
            .and_then(|all| all.first())
            .unwrap_or(items);
        rows(schema, items, &format!("{prefix}{name}[]."), text);
        let values = &member["additionalProperties"];
        rows(schema, values, &format!("{prefix}{name}.*."), text);
    }
}

/// Returns whether the first type is a shared definition.
fn is_shared(value: &Value) -> bool {
    value["$ref"].is_string() || value["anyOf"][0]["$ref"].is_string()
}

/// Returns the types of a member. A shared definition is a link to its section.
fn types(schema: &Value, member: &Value) -> String {
    if let Some(name) = member["$ref"]
        .as_str()
        .and_then(|name| name.strip_prefix("#/$defs/"))
    {
        let title = schema["$defs"][name]["title"].as_str().expect(name);
        return format!("[{title}](json-parts.md#{})", title.replace(' ', "-"));
    }
    let all = |values: &[Value], name: &dyn Fn(&Value) -> String| {
        values.iter().map(name).collect::<Vec<_>>().join(" or ")
    };
    match (&member["type"], &member["anyOf"]) {
        (Value::String(one), _) if one == "array" && is_shared(&member["items"]) => {
            format!("array: {}", types(schema, &member["items"]))
        }
        (Value::String(one), _) => one.clone(),
        (Value::Array(values), _) => {
            all(values, &|one| one.as_str().unwrap_or_default().to_owned())
        }
        (_, Value::Array(values)) => all(values, &|one| types(schema, one)),
        _ => "any".to_owned(),
    }
}

#[test]
fn pages_are_generated_from_the_schema() {
    for (file, page) in pages(&schema()) {
        let file = path(file);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&file, &page).expect("the page");
        }
        assert!(
            fs::read_to_string(&file).expect("the page") == page,
            "run with UPDATE=1 and read the difference"
        );
    }
}
