//! Tests that reports have the benchmark's keys in the benchmark's order, followed by additional keys.

use jiff::Timestamp;
use jiff::civil::date;
use prep_grade::report::medals::Leaderboard;
use prep_grade::report::{
    CompetitionReport, GradedData, GradedSubmission, aggregate, file_name, pretty,
};
use prep_grade::report::{ListedSubmission, parse_list};
use prep_grade::{GradeOutcome, Refusal, RefusalKind};
use serde_json::Value;

fn missing() -> GradeOutcome {
    let cause = "Submission file dir/ä.csv does not exist";
    GradeOutcome::Invalid(Refusal::new(RefusalKind::NoSubmission, cause))
}

fn report(outcome: GradeOutcome) -> CompetitionReport {
    let board = Leaderboard::parse("score\n0.9\n0.8\n0.7\n").unwrap();
    let at = date(2026, 11, 21).at(12, 5, 6, 7_000);
    let variant = GradedData {
        name: "v1".to_owned(),
        not_comparable_because: Vec::new(),
    };
    let path = "dir/ä.csv";
    CompetitionReport::new(GradedSubmission {
        competition_id: "some-task",
        path,
        outcome,
        leaderboard: Some(&board),
        data: &variant,
        graded_at: at,
    })
}

#[test]
fn keys_have_the_order_of_the_benchmark() {
    let text = pretty(aggregate(&[report(GradeOutcome::Score {
        value: 0.850_001,
        rounded: 0.85,
    })]));
    let value: Value = serde_json::from_str(&text).unwrap();
    let keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected = "total_runs total_runs_with_submissions total_valid_submissions total_medals total_gold_medals \
                    total_silver_medals total_bronze_medals total_above_median competition_reports";
    assert_eq!(keys.join(" "), expected);
    let single = &value["competition_reports"][0];
    let keys: Vec<&str> = single
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected = "competition_id score gold_threshold silver_threshold bronze_threshold median_threshold any_medal \
                    gold_medal silver_medal bronze_medal above_median submission_exists valid_submission \
                    is_lower_better created_at submission_path variant reason comparable_with_v1 \
                    not_comparable_because submission_is_answers own_metric digests program log";
    assert_eq!(keys.join(" "), expected);
    assert_eq!(single["created_at"], "2026-11-21T12:05:06.000007");
    assert_eq!(single["score"], 0.85);
    assert_eq!(single["above_median"], true);
    assert_eq!(single["comparable_with_v1"], true);
    assert!(
        text.contains("            \"submission_path\": \"dir/\\u00e4.csv\",\n"),
        "{text}"
    );
}

#[test]
fn report_of_an_invalid_submission_has_the_reason() {
    let refusal = Refusal::new(RefusalKind::Type, "found `x`, expected a number")
        .in_column("y")
        .in_row(3);
    let value: Value =
        serde_json::from_str(&pretty(report(GradeOutcome::Invalid(refusal)).to_json())).unwrap();
    assert_eq!(value["score"], Value::Null);
    assert_eq!(value["submission_exists"], true);
    assert_eq!(
        value["reason"]["message"],
        "column `y`, row 3: found `x`, expected a number"
    );
    let value: Value = serde_json::from_str(&pretty(report(missing()).to_json())).unwrap();
    assert_eq!(value["submission_exists"], false);
    assert_eq!(value["gold_threshold"], 0.9);
    assert_eq!(value["reason"]["kind"], "no_submission");
    assert_eq!(
        value["reason"]["message"],
        "Submission file dir/ä.csv does not exist"
    );
}

#[test]
fn incomparable_score_is_reported_with_reasons() {
    let variant = GradedData {
        name: "own".to_owned(),
        not_comparable_because: vec!["own pipeline".to_owned()],
    };
    let report = CompetitionReport {
        variant,
        ..report(missing())
    };
    let value: Value = serde_json::from_str(&pretty(report.to_json())).unwrap();
    assert_eq!(value["variant"], "own");
    assert_eq!(value["comparable_with_v1"], false);
    assert_eq!(value["not_comparable_because"][0], "own pipeline");
}

#[test]
fn copy_of_the_answers_is_not_comparable() {
    let score = GradeOutcome::Score {
        value: 1.0,
        rounded: 1.0,
    };
    let report = CompetitionReport {
        is_answers: true,
        ..report(score)
    };
    let value: Value = serde_json::from_str(&pretty(report.to_json())).unwrap();
    assert_eq!(value["submission_is_answers"], true);
    assert_eq!(value["comparable_with_v1"], false);
    let reason = &value["not_comparable_because"][0];
    assert_eq!(reason, "the submission is identical to the answers");
}

#[test]
fn nan_is_reported_as_a_score() {
    let report = report(GradeOutcome::Score {
        value: f64::NAN,
        rounded: f64::NAN,
    });
    assert!(report.valid_submission() && !report.medals.any());
    assert!(pretty(report.to_json()).contains("\"score\": NaN,"));
}

#[test]
fn report_file_names_contain_the_time() {
    let at: Timestamp = "2026-11-21T12:56:43Z".parse().unwrap();
    assert_eq!(file_name(at), "2026-11-21T12-56-43-GMT_grading_report.json");
}

#[test]
fn lists_of_submissions_are_parsed() {
    let text = "# comment\n\n{\"competition_id\": \"a\", \"submission_path\": \"x.csv\", \"more\": 1}\r\n// {\n";
    let entry = ListedSubmission {
        line: 3,
        competition_id: "a".to_owned(),
        submission_path: "x.csv".to_owned(),
    };
    assert_eq!(parse_list(text).unwrap(), [entry]);
    let none = parse_list("{\"competition_id\": \"a\", \"submission_path\": null}").unwrap();
    assert_eq!(none[0].submission_path, "None");
    let table = [
        (
            "\n{x",
            "line 2 is not JSON: key must be a string at column 2",
        ),
        ("[]", "line 1 is not a JSON object"),
        (
            "{\"competition_id\": \"a\"}",
            "line 1 has no `submission_path`",
        ),
        (
            "{\"competition_id\": 1, \"submission_path\": \"\"}",
            "line 1: `competition_id` is not a string",
        ),
    ];
    for (text, message) in table {
        let error = parse_list(text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}
