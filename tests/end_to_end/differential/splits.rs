//! Tests of every method of splitting, on columns of all types.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::{cases, columns, install};
use crate::support::Sandbox;

/// Returns the keys of a split as YAML: `method: shuffle, test_size: 0.1, ...`
fn keys(split: &Value) -> String {
    let keys = split[0].as_object().expect("keys").iter();
    let key = |(name, value): (&String, &Value)| match value.as_str() {
        Some(text) => format!("{name}: {text}"),
        None => format!("{name}: {value}"),
    };
    keys.map(key).collect::<Vec<_>>().join(", ")
}

fn digest(path: &Path) -> u32 {
    let text = std::fs::read_to_string(path).expect("output");
    let ids: Vec<&str> = text.lines().skip(1).collect();
    crc32fast::hash(ids.join(",").as_bytes())
}

#[test]
fn splits_match_the_original_libraries() {
    let sandbox = Sandbox::new();
    let cases = cases(include_str!("splits.jsonl"));
    let mut ids = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let columns = columns(&case["types"]);
        let mut tables = format!("tables:\n  t: {{ read: t.csv, columns: {columns} }}\n");
        let mut public = "public:\n".to_owned();
        for (place, split) in case["splits"]
            .as_array()
            .expect("splits")
            .iter()
            .enumerate()
        {
            if split[1].is_null() {
                continue;
            }
            let keys = keys(split);
            let _ = writeln!(tables, "  a{place}, b{place}: {{ split: t, {keys} }}");
            for part in ["a", "b"] {
                let _ = writeln!(public, "  {part}{place}.csv: SELECT id FROM {part}{place}");
            }
        }
        let id = format!("splits-{number}");
        let files = [("t.csv".to_owned(), case["csv"].as_str().expect("text"))];
        install(&sandbox, &id, &files, &(tables + &public));
        ids.push(id);
    }
    sandbox.run_all(&ids).code(0);
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (id, case) in ids.iter().zip(&cases) {
        let public = sandbox.prepared(id).join("public");
        for (place, split) in case["splits"]
            .as_array()
            .expect("splits")
            .iter()
            .enumerate()
        {
            if split[1].is_null() {
                continue;
            }
            count += 1;
            for (part, expected) in ["a", "b"].iter().zip([&split[1], &split[2]]) {
                if digest(&public.join(format!("{part}{place}.csv"))) != *expected {
                    wrong.push(format!("{id}: {part} of {}", split[0]));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(count > 1000, "{count}");
}

/// If scikit-learn or pandas raises an error, `prep` also fails, with the exit code for a pipeline or for input.
#[test]
fn splits_that_the_original_libraries_reject_are_errors() {
    let sandbox = Sandbox::new();
    let mut count = 0;
    for case in cases(include_str!("splits.jsonl")) {
        for split in case["splits"].as_array().expect("splits") {
            if !split[1].is_null() {
                continue;
            }
            count += 1;
            let id = format!("refused-{count}");
            let columns = columns(&case["types"]);
            let pipeline = format!(
                "tables:\n  t: {{ read: t.csv, columns: {columns} }}\n  a, b: {{ split: t, {} }}\n\
                 public:\n  a.csv: SELECT id FROM a\n  b.csv: SELECT id FROM b\n",
                keys(split)
            );
            let files = [("t.csv".to_owned(), case["csv"].as_str().expect("text"))];
            install(&sandbox, &id, &files, &pipeline);
            let code = sandbox.run(&id).code;
            assert!(
                matches!(code, Some(3 | 4)),
                "{code:?}: {} of {}",
                split[0],
                case["types"]
            );
        }
    }
    assert!(count > 20, "{count}");
}
