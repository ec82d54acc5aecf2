//! Tests of drafts for small bundles of many forms.

use std::fs;

use crate::support::{Archive, Sandbox};

/// Each case has a bundle, the arguments of `prep pipeline new`, a part of its messages, and parts of the draft. A case
/// without parts expects that no draft is written. All other drafts must run.
#[test]
fn drafts_fit_their_bundles() {
    let table = |header: &str, row: &dyn Fn(usize) -> String| {
        let rows = (0..60).map(|at| format!("t{at:02},{}\n", row(at)));
        format!("id,{header}\n{}", rows.collect::<String>())
    };
    let lists = |separator: &str, marks: [&str; 2]| {
        let lists = [
            vec!["red"],
            vec!["red", "green"],
            vec!["green"],
            vec!["blue", "red"],
        ];
        table("tags", &|at| {
            let quoted = |tag: &&str| format!("{}{tag}{}", marks[1], marks[1]);
            let tags: Vec<String> = lists[at % 4].iter().map(quoted).collect();
            let end = if marks[0].is_empty() { "" } else { "]" };
            match at {
                7 if end.is_empty() => String::new(),
                _ => format!("\"{}{}{end}\"", marks[0], tags.join(separator)),
            }
        })
    };
    let binary = table("a,b,c", &|at| {
        format!("{},{},{}", at % 2, at % 3 / 2, at / 2 % 2)
    });
    let rare = table("threat", &|at| u8::from(at % 20 == 3).to_string());
    let shop = table("units,store", &|at| {
        format!("{},{}", at % 4, ["x", "y"][at % 2])
    });
    let photos = || {
        let path = |at: usize| format!("{}/{at}.jpg", ["cat", "dog"][at % 2]);
        let rows = (0..40).map(|at| format!("{},{}\n", path(at), ["cat", "dog"][at % 2]));
        let labels = format!("file,species\n{}", rows.collect::<String>());
        (0..40).fold(Archive::new().file("labels.csv", labels), |archive, at| {
            archive.file(&path(at), format!("photo {at}"))
        })
    };
    let of_table = |text: &str| Archive::new().file("train.csv", text);
    let cases: Vec<(Archive, &str, &str, &[&str])> = vec![
        (
            of_table(&lists(", ", ["", ""])),
            "--target tags",
            "lists of labels",
            &["multi_hot(replace(tags, ', ', ','), classes)"],
        ),
        (
            of_table(&lists("|", ["", ""])),
            "--target tags",
            "lists of labels",
            &["'|', ','), classes)"],
        ),
        (
            of_table(&lists(";", ["", ""])),
            "--target tags",
            "lists of labels",
            &["';', ','), classes)"],
        ),
        (
            of_table(&lists(", ", ["[", "'"])),
            "--target tags",
            "lists of labels",
            &["'''', '\"'), classes)"],
        ),
        (
            of_table(&lists(",", ["", ""])),
            "--target tags --metric log_loss",
            "`log_loss` does not fit the target: each column is a class, but a row has 2 classes",
            &[],
        ),
        (
            of_table(&binary),
            "--target a --target b --target c",
            "",
            &["roc_auc: [a, b, c]", "also f1, brier, average_precision."],
        ),
        (
            of_table(&binary),
            "--target a --target b --target c --metric log_loss",
            "`log_loss` does not fit the target: each column is a class",
            &[],
        ),
        (
            of_table(&binary),
            "--target a --target b --metric accuracy",
            "`accuracy` compares only the column a",
            &["# CHOOSE: `accuracy` compares only the column a"],
        ),
        (
            of_table(&shop),
            "--target units --target store",
            "",
            &["metric: { balanced_accuracy: [units, store] }"],
        ),
        (
            of_table(&rare),
            "--target threat",
            "",
            &["stratify: threat, test_size: 0.5", "It loads and runs."],
        ),
        (
            of_table(&rare),
            "--id threat --target threat",
            "`threat` cannot be both",
            &[],
        ),
        (
            photos(),
            "",
            "",
            &[
                "JOIN files f ON f.file = t.\"file\"",
                "each: labelled.file in files.file",
            ],
        ),
    ];
    for (number, (archive, choices, message, parts)) in cases.into_iter().enumerate() {
        let sandbox = Sandbox::new();
        sandbox.bundle("case", &archive.bytes());
        let new = [
            "pipeline",
            "new",
            "case",
            "--source",
            "source",
            "-o",
            "pipelines",
        ];
        let choices: Vec<&str> = choices.split_whitespace().collect();
        let ended = sandbox.prep(&[&new[..], &choices].concat());
        ended.stderr_has(&[message]);
        let path = sandbox.path("pipelines/case/pipeline.yaml");
        let Ok(text) = fs::read_to_string(path) else {
            assert!(parts.is_empty(), "case {number}");
            continue;
        };
        for part in parts {
            assert!(
                text.contains(part),
                "case {number}: {part} is not in\n{text}"
            );
        }
        assert!(!parts.is_empty(), "case {number}: {text}");
        assert!(!text.contains("left out"), "{text}");
        sandbox.run_and_count_steps("case");
    }
}
