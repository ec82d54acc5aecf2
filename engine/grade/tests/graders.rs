//! Tests that complete `grade:` sections compute the scores of MLE-bench's graders and reject the same submissions.

use prep_grade::table::submission;
use prep_grade::{GradeOutcome, Grader};
use serde_json::Value;

#[test]
fn scores_equal_those_of_recorded_graders() {
    let mut wrong = Vec::new();
    let mut scores = 0;
    for line in include_str!("data/graders.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let grader = Grader::parse(&case["grade"]).unwrap();
        let answers = grader
            .read_answers(case["answers"].as_str().unwrap().as_bytes())
            .unwrap();
        for expected in case["submissions"].as_array().unwrap() {
            let text = expected["text"].as_str().unwrap();
            let outcome = grader.grade_bytes(&answers, text.as_bytes());
            let table = submission::parse(text.as_bytes());
            let of_table = table.map_or_else(GradeOutcome::Invalid, |table| {
                grader.grade(&answers, &table)
            });
            // Compare the outcomes as text, because NaN does not equal itself.
            assert_eq!(format!("{outcome:?}"), format!("{of_table:?}"), "{text:?}");
            scores += usize::from(outcome.rounded().is_some());
            if !matches_expectation(&outcome, expected) {
                wrong.push(format!(
                    "{} {text:?} <- {outcome:?} {}",
                    case["competition"], expected["score"]
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
    assert!(scores > 200, "only {scores} submissions have a score");
}

fn matches_expectation(outcome: &GradeOutcome, expected: &Value) -> bool {
    let number = |key: &str| {
        expected[key]
            .as_str()
            .map(|text| text.parse::<f64>().unwrap())
    };
    match (outcome, number("score"), number("rounded")) {
        (GradeOutcome::Invalid(_), None, _) => true,
        (GradeOutcome::Score { value, rounded }, Some(score), Some(at_five)) => {
            let close = (value - score).abs() <= 1e-13 * score.abs().max(1e-3);
            (close || value == &score || (value.is_nan() && score.is_nan()))
                && (rounded == &at_five || (rounded.is_nan() && at_five.is_nan()))
        }
        _ => false,
    }
}
