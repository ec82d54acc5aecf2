//! Drafts of pipelines for bundles of many shapes: each draft loads, runs, and grades its own sample submission.

use std::fs;

use crate::support::{Archive, Sandbox};

/// Writes a draft, prepares it, and grades its sample. Returns the pipeline.
#[track_caller]
fn prepared(sandbox: &Sandbox, id: &str, archive: &Archive) -> String {
    sandbox.bundle(id, &archive.bytes());
    let arguments = [
        "pipeline",
        "new",
        id,
        "--source",
        "source",
        "--output",
        "pipelines",
    ];
    sandbox.prep(&arguments).code(0);
    let path = format!("pipelines/{id}/pipeline.yaml");
    let text = fs::read_to_string(sandbox.path(&path)).unwrap();
    sandbox.prep(&["pipeline", "check", &path]).code(0);
    sandbox.run_and_count_steps(id);
    let sample = sandbox.prepared(id).join("public/sample_submission.csv");
    let sample = sample.to_str().unwrap();
    let graded = sandbox.prep(&["grade", id, sample, "--json"]).code(0);
    let report = graded.competition();
    assert_eq!(report["valid_submission"], true, "{report}\n{text}");
    text
}

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

fn table(head: &str, row: impl Fn(usize) -> String) -> String {
    let rows: String = (0..80).map(|at| format!("{}\n", row(at))).collect();
    format!("{head}\n{rows}")
}

#[test]
fn rows_of_one_group_stay_in_one_part() {
    let sandbox = Sandbox::new();
    let visits = table("row_id,patient_id,pressure,score", |at| {
        format!("{at},P{:02},{}.5,{}.25", at / 4, at % 9, at * 3 % 50)
    });
    let archive = Archive::new().file("visits.csv", visits);
    let text = prepared(&sandbox, "visits", &archive);
    assert_contains(
        &text,
        &[
            "groups: patient_id",
            "- train.patient_id and test.patient_id",
            "align: row_id",
        ],
    );
    // There are too few shops to keep all rows of a shop in one part.
    let sales = table("id,shop_id,sales", |at| {
        format!("{at},{},{}", at % 4, at * 7 % 50)
    });
    let archive = Archive::new().file("sales.csv", sales);
    let text = prepared(&sandbox, "sales", &archive);
    assert!(!text.contains("groups: shop_id"), "{text}");
}

#[test]
fn rows_without_an_identifier_are_numbered() {
    let sandbox = Sandbox::new();
    let wine = table("acidity,quality", |at| {
        format!("{}.{at},{}", at % 10, at % 30)
    });
    let text = prepared(&sandbox, "wine", &Archive::new().file("wine.csv", wine));
    assert_contains(
        &text,
        &[
            "SELECT _row AS row_id, * FROM all_rows",
            "align: row_id",
            "acidity: number",
        ],
    );
    // Rows with the same id belong together.
    let twice = table("id,x,target", |at| {
        format!("{},{}.5,{}", at / 2, at * 7 % 11, at % 2)
    });
    let text = prepared(&sandbox, "twice", &Archive::new().file("train.csv", twice));
    assert_contains(&text, &["groups: id", "align: row_id", "roc_auc: target"]);
}

#[test]
fn rows_without_a_label_are_left_out() {
    let sandbox = Sandbox::new();
    let some = table("id,x,target", |at| {
        let target = if at % 5 == 0 {
            String::new()
        } else {
            (at % 2).to_string()
        };
        format!("{at},{}.5,{target}", at * 7 % 11)
    });
    let text = prepared(&sandbox, "some", &Archive::new().file("train.csv", some));
    assert_contains(&text, &["WHERE target IS NOT NULL", "roc_auc: target"]);
    // A column without any value is not a target.
    let none = table("id,label,x", |at| format!("{at},,{}.25", at * 7 % 11));
    let text = prepared(&sandbox, "none", &Archive::new().file("train.csv", none));
    assert_contains(&text, &["root_mean_squared_error: x"]);
}

/// An empty mask is an answer. The masks of the test part are not public.
#[test]
fn masks_are_answers() {
    let sandbox = Sandbox::new();
    let masks = table("id,rle_mask", |at| {
        let mask = if at % 3 == 0 { "" } else { "1 3 5 2" };
        format!("m{at},{mask}")
    });
    let mut archive = Archive::new().file("train.csv", masks);
    for at in 0..80 {
        archive = archive
            .file(&format!("train/images/m{at}.png"), format!("image {at}"))
            .file(&format!("train/masks/m{at}.png"), format!("mask {at}"));
    }
    let text = prepared(&sandbox, "cells", &archive);
    assert_contains(
        &text,
        &[
            "files: train/images/*.png",
            "fill_missing: { columns: [rle_mask]",
            "- labelled.id in masks.stem",
        ],
    );
    let root = sandbox.prepared("cells");
    let count = |path: &str| fs::read_dir(root.join(path)).map_or(0, Iterator::count);
    assert_eq!(
        count("public/images/train") + count("public/images/test"),
        80
    );
    assert_eq!(count("public/masks/test"), 0);
    assert_eq!(count("private/masks/test"), count("public/images/test"));
}

#[test]
fn lists_and_objects_are_not_predicted() {
    let sandbox = Sandbox::new();
    let lines: String = (0..80)
        .map(|at| {
            format!(
                "{{\"review\": \"r{at}\", \"text\": \"a, \\\"b\\\"\\n{at}\", \"stars\": {}, \"tags\": [\"x\"], \"meta\": {{\"n\": {at}}}}}\n",
                at % 5
            )
        })
        .collect();
    let text = prepared(
        &sandbox,
        "reviews",
        &Archive::new().file("reviews.jsonl", lines),
    );
    assert_contains(
        &text,
        &["align: review", "{ accuracy: stars }", "meta: json"],
    );
}

#[test]
fn tables_in_latin_1_are_read() {
    let sandbox = Sandbox::new();
    let cities = table("id,city,target", |at| {
        format!("{at},K\u{f6}ln {at},{}", at % 2)
    });
    let latin1: Vec<u8> = cities
        .chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect();
    let text = prepared(
        &sandbox,
        "cities",
        &Archive::new().file("train.csv", latin1),
    );
    assert_contains(&text, &["encoding: windows-1252"]);
    let train = sandbox.prepared("cities").join("public/train.csv");
    let train = fs::read_to_string(train).unwrap();
    assert_contains(&train, &["K\u{f6}ln 1"]);
}

#[test]
fn quoted_line_breaks_and_odd_names_are_kept() {
    let sandbox = Sandbox::new();
    let odd = table(
        "\u{feff}Record ID,\"Body, Mass (kg)\",select,\"Is \"\"ill\"\"?\"",
        |at| {
            let ill = if at % 3 == 0 { "yes" } else { "no" };
            format!("{at:04},{at}.5,\"line one\nline \"\"two\"\"\r\n{at}\",{ill}")
        },
    );
    let text = prepared(&sandbox, "odd", &Archive::new().file("Train Data.csv", odd));
    assert_contains(&text, &["Record ID: text", "align: Record ID"]);
}
