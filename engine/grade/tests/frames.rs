//! Tests which typed frames with columns of Python objects get a score.
//!
//! The expectations were recorded from MLE-bench's graders with pandas 2.2, NumPy 1.26 and scikit-learn 1.5.

use prep_grade::table::typed;
use prep_grade::{GradeOutcome, Grader};
use serde_json::{Value, json};

/// Returns a typed frame. If `objects` is true, or if a column contains other cells than numbers, the column has the type
/// `object`.
fn frame(columns: &[(&str, Value)], objects: bool) -> Vec<u8> {
    let mut header = Vec::new();
    let mut content: Vec<u8> = Vec::new();
    let rows = columns[0].1.as_array().unwrap().len();
    for (name, cells) in columns {
        let cells = cells.as_array().unwrap();
        let numbers: Option<Vec<f64>> = cells.iter().map(Value::as_f64).collect();
        match numbers.filter(|_| !objects) {
            Some(numbers) => {
                header.push(json!({ "name": name, "type": "float64" }));
                content.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            }
            None => {
                let text = serde_json::to_vec(cells).unwrap();
                header.push(json!({ "name": name, "type": "object", "bytes": text.len() }));
                content.extend(text);
            }
        }
    }
    let header = json!({ "rows": rows, "columns": header }).to_string();
    [header.as_bytes(), b"\n", &content].concat()
}

fn has_score(
    section: &Value,
    answers: (&[(&str, Value)], bool),
    submission: (&[(&str, Value)], bool),
) -> bool {
    let grader = Grader::parse(section).unwrap();
    let parse = |(columns, objects)| typed::parse(&frame(columns, objects)).unwrap();
    let (answers, submission) = (parse(answers), parse(submission));
    matches!(
        grader.grade(&answers, &submission),
        GradeOutcome::Score { .. }
    )
}

const TEXTS: [&str; 2] = ["0", "1"];

#[test]
fn columns_of_objects_can_be_summed_only_with_decimals() {
    let submission = [
        ("id", json!(["a", "b"])),
        ("x", json!([0.25, 1.0])),
        ("y", json!([0.75, 0.0])),
    ];
    let answers = [
        ("id", json!(["a", "b"])),
        ("x", json!([0, 1])),
        ("y", json!([1, 0])),
    ];
    let by = |parameters: Value| json!({ "rules": [{ "rows_sum_to": parameters }], "metric": { "log_loss": ["x", "y"] } });
    let tolerant = by(json!({ "columns": ["x", "y"], "total": 1, "absolute": 1e-6 }));
    let rounded = by(json!({ "columns": ["x", "y"], "total": 1, "decimals": 6 }));
    for (section, objects, expected) in [
        (&tolerant, false, true),
        (&tolerant, true, false),
        (&rounded, false, true),
        (&rounded, true, true),
    ] {
        let found = has_score(section, (&answers, false), (&submission, objects));
        assert_eq!(found, expected, "{section} objects: {objects}");
    }
    // Labels of several columns must be numbers.
    assert!(!has_score(&rounded, (&answers, true), (&submission, false)));
}

#[test]
fn labels_can_be_text_only_in_a_single_column() {
    let section = json!({ "metric": { "log_loss": "x" } });
    let submission = [("x", json!([0.25, 0.75]))];
    let (texts, numbers) = ([("x", json!(TEXTS))], [("x", json!([0, 1]))]);
    assert!(has_score(&section, (&texts, true), (&submission, false)));
    assert!(has_score(&section, (&numbers, false), (&submission, false)));
    assert!(!has_score(&section, (&numbers, true), (&submission, false)));
}

#[test]
fn keep_rows_rejects_text_in_the_answers() {
    let section = json!({
        "rules": [{ "keep_rows": { "sum_of": "u", "max": 0 } }],
        "metric": { "mean_absolute_error": "x" },
    });
    let submission = [("x", json!([0.25, 0.75]))];
    let texts = [("x", json!([0, 1])), ("u", json!(TEXTS))];
    let numbers = [("x", json!([0, 1])), ("u", json!([0, 1]))];
    assert!(has_score(&section, (&numbers, false), (&submission, false)));
    assert!(has_score(&section, (&numbers, true), (&submission, false)));
    assert!(!has_score(&section, (&texts, false), (&submission, false)));
}

#[test]
fn mask_sizes_must_be_integers() {
    let section = json!({
        "metric": { "f_beta_of_masks": { "column": "x", "width": "w", "height": "h", "both_empty": "one" } },
    });
    let submission = [("x", json!(["1 1", "1 2"]))];
    let answers = |size: Value| {
        [
            ("x", json!(["1 1", "2 1"])),
            ("w", size.clone()),
            ("h", size),
        ]
    };
    let numbers = answers(json!([2, 2]));
    assert!(has_score(&section, (&numbers, false), (&submission, false)));
    for (size, expected) in [("2", true), ("2.0", false)] {
        let texts = answers(json!([size, size]));
        let found = has_score(&section, (&texts, false), (&submission, false));
        assert_eq!(found, expected, "{size}");
    }
}

#[test]
fn numeric_without_booleans_rejects_objects() {
    let by = |booleans: &str| {
        json!({
            "rules": [{ "numeric": { "columns": "x", "booleans": booleans } }],
            "metric": { "mean_absolute_error": "x" },
        })
    };
    let cells = [("x", json!([0, 1]))];
    for (booleans, objects, expected) in [
        ("refuse", false, true),
        ("refuse", true, false),
        ("allow", true, true),
    ] {
        let found = has_score(&by(booleans), (&cells, false), (&cells, objects));
        assert_eq!(found, expected, "{booleans} objects: {objects}");
    }
}
