//! Submissions of a few megabytes that are designed to exhaust memory or time. The grader must accept or reject each of
//! them with memory and time proportional to its size.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

#[path = "../../../tests/fuzzing/cost.rs"]
#[allow(dead_code, reason = "no fuzzer runs here")]
mod cost;

use cost::Cost;
use prep_grade::Grader;
use serde_json::{Value, json};

/// Approximate size of a submission, in bytes.
const BYTES: usize = 4 << 20;

/// Maximum memory for grading a submission, in bytes.
const MAX_PEAK: u64 = 512 << 20;
/// Maximum time for a submission. It is generous, because other tests run on the same machine.
const MAX_SECONDS: u64 = 30;

fn cell(text: &str) -> String {
    format!("\"{}\"", text.repeat(BYTES / text.len()))
}

fn rows(row: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0.. {
        text.push_str(&row(number));
        text.push('\n');
        if text.len() > BYTES {
            break;
        }
    }
    text
}

fn cases() -> Vec<(&'static str, Value, String, String)> {
    let one = |metric: Value, answer: &str, cell: String| {
        let section = json!({ "metric": metric });
        (section, format!("y\n{answer}\n"), format!("y\n{cell}\n"))
    };
    let mut cases = Vec::new();
    let mut add = |name, (section, answers, submission)| {
        cases.push((name, section, answers, submission));
    };
    let text = "abcdefghij".repeat(100);
    add(
        "a long text",
        one(json!({ "mean_edit_distance": "y" }), &text, cell("abcd")),
    );
    let words = "1 22 333 ".repeat(100);
    for tokens in ["words", "integers"] {
        let metric = json!({ "token_error_rate": { "column": "y", "tokens": tokens } });
        add("a long list", one(metric, &words, cell("1 2 ")));
    }
    for metric in ["f1_of_words", "jaccard_of_words"] {
        let answers = "y\na b\nc d\n".to_owned();
        let many = rows(|number| number.to_string()).replace('\n', " ");
        let submission = format!("y\n{many}\na\n");
        add(
            "many words",
            (json!({ "metric": { metric: "y" } }), answers, submission),
        );
    }
    let at_k = json!({ "average_precision_at_k": { "column": "y", "k": 5 } });
    add("many guesses", one(at_k, "a b c", cell("x ")));
    let points = json!({ "f1_of_points": "y" });
    let truth = "a 1 1 5 5 ".repeat(1000);
    add(
        "many points",
        one(
            points,
            truth.trim(),
            format!(
                "{} 1 1\"",
                cell("b 2 2 ")
                    .trim_end_matches(" \"")
                    .trim_end_matches("2 2")
            ),
        ),
    );
    let boxes = json!({ "average_precision_of_boxes": {
        "column": "y", "threshold": 0.5,
        "fields": ["label", "confidence", "x_min", "y_min", "x_max", "y_max"],
    } });
    let truth: Vec<String> = (0..300)
        .map(|label| format!("{} 1 0 0 9 9", label % 30))
        .collect();
    add(
        "many boxes",
        one(boxes, &truth.join(" "), cell("1 1 0 0 1 1 ")),
    );
    let masks = |metric: Value| json!({ "metric": metric });
    let rle = rows(|number| format!("{} 1", 2 * number + 1)).replace('\n', " ");
    for metric in [
        json!({ "f_beta_of_masks": { "column": "y", "width": 4000, "height": 4000 } }),
        json!({ "iou_precision_of_masks": { "column": "y", "width": 4000, "height": 4000, "thresholds": [0.5] } }),
    ] {
        add(
            "a mask of many runs",
            (masks(metric), "y\n1 5\n".to_owned(), format!("y\n{rle}\n")),
        );
    }
    // In the first submission, one slice consists of many rows, and the first of these rows has many runs. In the
    // second, all slices belong to one volume.
    let volumes = json!({ "hausdorff_of_volumes": {
        "column": "y", "width": "w", "height": "h", "slice": "id", "stacked_by": "_", "surplus_rows": "ignore",
    } });
    let answers = |count: usize| {
        let rows: String = (0..count)
            .map(|row| format!("a{}_{row},1 5,300,300\n", row / 100))
            .collect();
        format!("id,y,w,h\n{rows}")
    };
    let runs: String = (0..40_000)
        .map(|run| format!("{} 1 ", 2 * run + 1))
        .collect();
    let same: String = (1..20_000).map(|_| "a_0,1 1\n").collect();
    add(
        "one slice in many rows",
        (
            masks(volumes.clone()),
            answers(20_000),
            format!("id,y\na_0,{runs}\n{same}"),
        ),
    );
    let stacked: String = (0..20_000)
        .map(|row| format!("a_{row},1 1 90000 1\n"))
        .collect();
    add(
        "all slices in one volume",
        (
            masks(volumes.clone()),
            answers(20_000),
            format!("id,y\n{stacked}"),
        ),
    );
    // This volume has the maximum size. Its lines across the slices are long, and their voxels are far apart in memory.
    let deep: String = (0..38_000)
        .map(|row| format!("a_{row},1 1 {} 1\n", 28 * 300 + 29))
        .collect();
    add(
        "38,000 slices in one volume",
        (
            masks(volumes.clone()),
            answers(38_000),
            format!("id,y\n{deep}"),
        ),
    );
    let each: String = (0..200_000).map(|row| format!("b{row}_0,1 1\n")).collect();
    add(
        "as many volumes as rows",
        (masks(volumes), answers(200_000), format!("id,y\n{each}")),
    );
    let labels = rows(|number| number.to_string());
    let count = labels.lines().count();
    let truth: String = (0..count).map(|row| format!("{}\n", row % 5)).collect();
    for (metric, shorthand) in [
        (
            "cohen_kappa",
            json!({ "column": "y", "weights": "quadratic" }),
        ),
        ("f1", json!({ "column": "y", "average": "macro" })),
        ("accuracy", json!("y")),
        ("matthews_corrcoef", json!("y")),
        ("spearman", json!("y")),
        ("pearson", json!("y")),
        ("mean_absolute_error", json!("y")),
        ("root_mean_squared_error", json!("y")),
    ] {
        let section = json!({ "metric": { metric: shorthand } });
        add(
            metric,
            (section, format!("y\n{truth}"), format!("y\n{labels}")),
        );
    }
    // 8,000 classes, for which a matrix would take 512 MB.
    let few: String = (0..count).map(|row| format!("{}\n", row % 8_000)).collect();
    let section = json!({ "metric": { "cohen_kappa": "y" } });
    add(
        "many classes",
        (section, format!("y\n{truth}"), format!("y\n{few}")),
    );
    let join = json!({ "rules": [{ "columns": ["id", "y"] }, { "join": "id" }], "metric": { "mean_absolute_error": "y" } });
    let answers = "1,1\n".repeat(5000);
    add(
        "identifiers that both repeat",
        (
            join,
            format!("id,y\n{answers}"),
            format!("id,y\n{}", rows(|_| "1,2".to_owned())),
        ),
    );
    let names: Vec<String> = (0..4000).map(|column| format!("c{column}")).collect();
    let wide = json!({ "metric": { "root_mean_squared_error": { "all_except": [] } } });
    let answers = format!("{}\n{}\n", names.join(","), vec!["1"; 4000].join(","));
    add(
        "short rows below a wide header",
        (
            wide,
            answers,
            format!("{}\n{}", names.join(","), rows(|_| "1".to_owned())),
        ),
    );
    cases
}

/// Each cell takes memory, so the number of cells is limited in addition to the number of bytes.
#[test]
fn submissions_with_too_many_cells_are_rejected() {
    let names: Vec<String> = (0..4096).map(|column| format!("c{column}")).collect();
    let section = json!({ "metric": { "root_mean_squared_error": "c0" } });
    let grader = Grader::parse(&section).unwrap();
    let row = format!("1{}\n", ",".repeat(4095));
    let outcome = |rows: usize| {
        let answers = format!("c0\n{}", "1\n".repeat(rows));
        let answers = grader.read_answers(answers.as_bytes()).unwrap();
        let mut submission = names.join(",");
        submission.push('\n');
        submission.push_str(&row.repeat(rows));
        let mut outcome = String::new();
        let cost = Cost::of(|| {
            outcome = format!("{:?}", grader.grade_bytes(&answers, submission.as_bytes()));
        });
        assert!(cost.peak < 64 << 20, "{rows} rows: {cost:?}");
        outcome
    };
    assert_eq!(268_435_456 / 4096, 65_536);
    let at_the_limit = outcome(65_536);
    assert!(at_the_limit.contains("Score"), "{at_the_limit}");
    let above = outcome(65_537);
    assert!(above.contains("more than 268435456 cells"), "{above}");
}

#[test]
fn hostile_submissions_take_limited_memory_and_time() {
    let mut failed = Vec::new();
    for (name, section, answers, submission) in cases() {
        let grader = Grader::parse(&section).expect(name);
        let answers = grader.read_answers(answers.as_bytes()).expect(name);
        let mut outcome = String::new();
        let cost = Cost::of(|| {
            outcome = format!("{:?}", grader.grade_bytes(&answers, submission.as_bytes()));
        });
        outcome.truncate(200);
        let measured = format!(
            "{name} {section}, {} bytes: {cost:?} {outcome}",
            submission.len()
        );
        eprintln!("{measured}");
        if cost.peak > MAX_PEAK || cost.time.as_secs() > MAX_SECONDS {
            failed.push(measured);
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
