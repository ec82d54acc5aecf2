//! Validates the JSON of every verb with `docs/reference/json.schema.json`.
//! Also generates `docs/reference/json.md` from that file (`UPDATE=1` writes the page).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use boon::{Compiler, Schemas};
use serde_json::Value;

use crate::{path, program};

const FILE: &str = "docs/reference/json.schema.json";
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
    ("verify_report", "verify-report signed --key own --log data/grades.jsonl"),
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
const UNTESTED_DEFINITIONS: [&str; 8] = [
    "borrowed",
    "causes",
    "reason",
    "error_object",
    "failure",
    "failed",
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
    let text = format!("name: lab\nversion: 1\nsets: {{ all: [{ID}] }}\ncompetitions: {{ {ID}: {{}} }}\n");
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

fn page(schema: &Value) -> String {
    let mut text = "# JSON output\n\n\
        This page is generated from [json.schema.json](json.schema.json), a JSON Schema with a definition for each verb. A\n\
        test compares the output of the program with the schema.\n\n\
        With `--json`, each verb prints one JSON document on stdout. `competitions` contains one object per competition, with\n\
        its `id`. If a competition fails, its object has an `error` instead of the result. If the entire command fails, the\n\
        document is `{\"error\": {...}}`. Messages for people go to stderr, and the exit code is the same as without `--json`.\n"
        .to_owned();
    for (name, one) in schema["$defs"].as_object().expect("definitions") {
        let Some(title) = one["title"].as_str() else {
            continue;
        };
        text.push_str(&format!(
            "\n## {title}\n\n{} (`#/$defs/{name}`)\n",
            one["description"].as_str().unwrap_or_default()
        ));
        text.push_str("\n| member | type | meaning |\n|---|---|---|\n");
        rows(schema, one, "", &mut text);
    }
    text
}

/// Appends a table row per member, including members of nested objects and of objects in lists.
fn rows(schema: &Value, object: &Value, prefix: &str, text: &mut String) {
    let required = object["required"].as_array().cloned().unwrap_or_default();
    for (name, member) in object["properties"].as_object().into_iter().flatten() {
        let member = resolved(schema, member);
        let types = match &member["type"] {
            Value::String(one) => one.clone(),
            Value::Array(all) => all
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(" or "),
            _ => "any".to_owned(),
        };
        let meaning = member["description"]
            .as_str()
            .unwrap_or("an error: code, message, help, place");
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
        rows(
            schema,
            resolved(schema, items),
            &format!("{prefix}{name}[]."),
            text,
        );
    }
}

fn resolved<'a>(schema: &'a Value, value: &'a Value) -> &'a Value {
    let name = value["$ref"]
        .as_str()
        .and_then(|name| name.strip_prefix("#/$defs/"));
    name.map_or(value, |name| &schema["$defs"][name])
}

#[test]
fn page_is_generated_from_the_schema() {
    let (page, file) = (page(&schema()), path("docs/reference/json.md"));
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &page).expect("the page");
    }
    assert!(
        fs::read_to_string(&file).expect("the page") == page,
        "run with UPDATE=1 and read the difference"
    );
}
