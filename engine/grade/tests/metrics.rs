//! Tests that metrics compute scikit-learn's scores and reject the same input as scikit-learn.

use std::path::Path;

use prep_grade::table::submission;
use prep_grade::{GradeOutcome, Grader};
use serde_json::{Value, json};

fn grader(metric: &str) -> Grader {
    let metric = match metric {
        "accuracy_list" => json!({ "accuracy": { "column": "y", "labels_as": "list" } }),
        "accuracy_text" => json!({ "accuracy": { "column": "y", "labels_as": "text" } }),
        "f1_micro" => json!({ "f1": { "column": "y", "average": "micro", "labels_as": "list" } }),
        "f1_macro" => json!({ "f1": { "column": "y", "average": "macro" } }),
        "f1_integer" => {
            json!({ "f1": { "column": "y", "average": "macro", "labels_as": "integer" } })
        }
        "matthews" => json!({ "matthews_corrcoef": "y" }),
        "mae" => json!({ "mean_absolute_error": "y" }),
        "kappa" => json!({ "cohen_kappa": "y" }),
        "kappa_linear" => json!({ "cohen_kappa": { "column": "y", "weights": "linear" } }),
        "kappa_quadratic" => json!({ "cohen_kappa": { "column": "y", "weights": "quadratic" } }),
        "log_loss_classes" => json!({ "log_loss": { "all_except": [] } }),
        "rmse" => json!({ "root_mean_squared_error": "y" }),
        "rmsle" => json!({ "root_mean_squared_log_error": "y" }),
        "roc_auc_columns" => json!({ "roc_auc": { "all_except": [] } }),
        "roc_auc_position" => {
            json!({ "roc_auc": { "columns": { "all_except": [] }, "match": "position" } })
        }
        "rmse_columns" => json!({ "root_mean_squared_error": { "all_except": [] } }),
        "rmsle_columns" => json!({ "root_mean_squared_log_error": { "all_except": [] } }),
        "mean_angular_error" => {
            json!({ "mean_angular_error": { "azimuth": "azimuth", "zenith": "zenith" } })
        }
        other => json!({ other: "y" }),
    };
    Grader::parse(&json!({ "metric": metric })).unwrap()
}

#[test]
fn scores_match_scikit_learn() {
    let mut wrong = Vec::new();
    for line in include_str!("data/metrics.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| case[key].as_str().unwrap();
        let outcome = grade(&grader(text("metric")), text("answers"), text("submission"));
        let parse = |key: &str| case[key].as_str().map(|text| text.parse::<f64>().unwrap());
        let holds = match (&outcome, parse("score"), parse("rounded")) {
            (GradeOutcome::Invalid(_), None, _) => true,
            (GradeOutcome::Score { value, rounded }, Some(score), Some(expected)) => {
                // For nearly equal directions, the arc cosine turns an error in the last digit of its argument into an
                // error of 1e-8.
                let tolerance = match text("metric") {
                    "mean_angular_error" => 5e-8,
                    _ => 1e-13 * score.abs().max(1e-3),
                };
                is_close(*value, score, tolerance) && is_close(*rounded, expected, 0.0)
            }
            _ => false,
        };
        if !holds {
            wrong.push(format!(
                "{} {:?} <- {outcome:?} {} {}",
                text("metric"),
                text("submission"),
                text("answers"),
                case["score"]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
}

fn is_close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance
}

fn grade(grader: &Grader, answers: &str, submission: &str) -> GradeOutcome {
    let answers = submission::parse(answers.as_bytes()).unwrap();
    match submission::parse(submission.as_bytes()) {
        Ok(submission) => grader.grade(&answers, &submission),
        Err(refusal) => GradeOutcome::Invalid(refusal),
    }
}

#[test]
fn scores_and_rejections_match_recorded_cases() {
    for line in include_str!("data/cases.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let grader = Grader::parse(&case["grade"]).unwrap();
        for submission in case["submissions"].as_array().unwrap() {
            let outcome = grade(
                &grader,
                case["answers"].as_str().unwrap(),
                submission["text"].as_str().unwrap(),
            );
            let expected = submission["score"].as_f64();
            assert_eq!(
                outcome.rounded(),
                expected,
                "{} {}: {outcome:?}",
                case["competition"],
                submission["name"]
            );
        }
    }
}

#[test]
fn submissions_of_each_grader_have_their_recorded_scores() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases");
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let case: Value = serde_json::from_str(&text).unwrap();
        let grader = Grader::parse(&case["grade"]).unwrap();
        for submission in case["submissions"].as_array().unwrap() {
            let text = submission["text"].as_str().unwrap();
            let outcome = grade(&grader, case["answers"].as_str().unwrap(), text);
            let expected = submission["score"].as_str();
            let expected = expected.map(|score| score.parse::<f64>().unwrap());
            let holds = match (outcome.rounded(), expected) {
                (Some(found), Some(expected)) => is_close(found, expected, 0.0),
                (found, expected) => found == expected,
            };
            if !holds {
                wrong.push(format!(
                    "{} {text:?} <- {outcome:?} {expected:?}",
                    case["competition"]
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}

#[test]
fn rounding_matches_python() {
    for line in include_str!("data/rounding.csv").lines().skip(1) {
        let fields: Vec<f64> = line
            .split(',')
            .map(|field| field.parse().unwrap())
            .collect();
        assert_eq!(
            prep_grade::python::round_numpy(fields[0], 5),
            fields[1],
            "NumPy, {line}"
        );
        assert_eq!(
            prep_grade::python::round_python(fields[0], 5),
            fields[2],
            "Python, {line}"
        );
    }
}

#[test]
fn sort_orders_match_pandas() {
    for line in include_str!("data/sort.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let keys: Vec<Option<&str>> = case["keys"]
            .as_array()
            .unwrap()
            .iter()
            .map(Value::as_str)
            .collect();
        let missing = (0..)
            .zip(&keys)
            .filter(|(_, key)| key.is_none())
            .map(|(index, _)| index);
        let mut order: Vec<u32> = (0..)
            .zip(&keys)
            .filter(|(_, key)| key.is_some())
            .map(|(index, _)| index)
            .collect();
        prep_formats::pandas::argsort(&mut order, |a, b| keys[a as usize] < keys[b as usize]);
        order.extend(missing);
        let expected: Vec<u32> = serde_json::from_value(case["order"].clone()).unwrap();
        assert_eq!(order, expected, "{} keys", keys.len());
    }
}

/// The scores are those of `merge`, and of the rows that `isin` selects, in pandas 2.2.3.
#[test]
fn missing_identifiers_are_equal_in_merges() {
    for (rule, answers, submission, expected) in [
        ("join", "1,1\n,2\n3,3\n", "3,3\n,7\n1,1\n", 5.0 / 3.0),
        ("join", "a,1\n,2\nc,3\n", "c,3\n,7\na,1\n", 5.0 / 3.0),
        (
            "drop_unknown",
            "1,1\n,2\n3,3\n",
            "1,1\n,9\n3,3\n5,1\n",
            7.0 / 3.0,
        ),
        (
            "drop_unknown",
            "a,1\n,2\nc,3\n",
            "a,1\n,9\nc,3\nd,1\n",
            7.0 / 3.0,
        ),
    ] {
        let section =
            json!({ "rules": [{ rule: "id" }], "metric": { "mean_absolute_error": "y" } });
        let [answers, submission] = [answers, submission].map(|rows| format!("id,y\n{rows}"));
        match grade(&Grader::parse(&section).unwrap(), &answers, &submission) {
            GradeOutcome::Score { value, .. } => assert_eq!(value, expected, "{rule}: {answers}"),
            GradeOutcome::Invalid(refusal) => panic!("{rule}: {answers}: {refusal}"),
        }
    }
}
