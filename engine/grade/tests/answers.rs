//! Tests that answers in JSON lines are converted to rows, and that errors in them are reported.

use prep_grade::table::submission;
use prep_grade::{GradeOutcome, Grader};
use serde_json::{Value, json};

fn grader(rows: Value) -> Result<Grader, String> {
    let section = json!({
        "answer_rows": rows,
        "rules": ["same_rows", { "align": "id" }],
        "metric": { "exact_match": { "column": "p", "valid": "valid", "words": ["YES"] } },
    });
    Grader::parse(&section).map_err(|error| error.to_string())
}

fn spans() -> Value {
    json!([{ "id": "{id}-{tags.1}", "valid": [
        { "each": "spans", "unless": { "from": -1 }, "text": "{from}:{to}" },
        { "of": "word", "unless": "NONE" },
    ] }])
}

#[test]
fn json_records_are_converted_to_rows() {
    let answers = concat!(
        r#"{"id": 7, "tags": ["a", "b"], "spans": [{"from": 1, "to": 2}, {"from": -1, "to": 5}], "word": "NONE"}"#,
        "\n",
        r#"{"id": "x", "tags": ["a", "c"], "spans": [], "word": "YES"}"#,
        "\n",
        r#"{"id": "y", "tags": ["a", "c"], "spans": [{"from": -1, "to": -1}], "word": "NONE"}"#,
        "\n",
    );
    let grader = grader(spans()).unwrap();
    let answers = grader.read_answers(answers.as_bytes()).unwrap();
    let table = [
        ("id,p\n7-b,01:2\nx-c,YES\ny-c,\n", 1.0),
        ("id,p\n7-b,-1:5\nx-c,YES\ny-c,\n", 0.66667),
        ("id,p\n7-b,YES\nx-c,1:2\ny-c,-1:-1\n", 0.0),
    ];
    for (text, score) in table {
        let outcome = grader.grade(&answers, &submission::parse(text.as_bytes()).unwrap());
        assert_eq!(outcome.rounded(), Some(score), "{text} {outcome:?}");
    }
    for text in [
        "id,p\n7-b,NO\nx-c,\ny-c,\n",
        "id,p\n7-b,1:2:3\nx-c,\ny-c,\n",
    ] {
        let outcome = grader.grade(&answers, &submission::parse(text.as_bytes()).unwrap());
        let GradeOutcome::Invalid(refusal) = outcome else {
            panic!("{text} {outcome:?}")
        };
        assert!(
            refusal
                .to_string()
                .ends_with("expected a span `FIRST:LAST`, `YES`, or nothing"),
            "{refusal}"
        );
    }
}

#[test]
fn invalid_answers_are_reported_with_their_line() {
    let table = [
        ("{}", "line 1: the record has no value at `id`"),
        (
            "{\"id\": 1, \"tags\": [\"a\"]}",
            "line 1: the record has no value at `tags.1`",
        ),
        (
            "{\"id\": 1, \"tags\": [1, 2], \"spans\": 3}",
            "line 1: `spans` is not a list",
        ),
        (
            "{\"id\": 1, \"tags\": [1, 2], \"spans\": [], \"word\": null}",
            "line 1: the record has no value at `word`",
        ),
        ("x", "line 1 is not JSON: expected value at line 1 column 1"),
    ];
    for (text, message) in table {
        let error = grader(spans())
            .unwrap()
            .read_answers(text.as_bytes())
            .unwrap_err();
        assert_eq!(prep_failure::chain(&error), message);
    }
}

#[test]
fn invalid_answer_rows_are_reported() {
    let table = [
        (json!({}), "expected a sequence"),
        (
            json!([{ "id": 3 }]),
            "`id` must be a string or a list of parts",
        ),
        (
            json!([{ "id": [{ "of": "a", "each": "b" }] }]),
            "a part must have exactly one of `of` and `each`",
        ),
        (
            json!([{ "id": [{ "text": "a" }] }]),
            "a part must have exactly one of `of` and `each`",
        ),
    ];
    for (rows, message) in table {
        let error = grader(rows.clone()).unwrap_err();
        assert!(
            error.starts_with("grade.answer_rows: ") && error.contains(message),
            "{rows} {error}"
        );
    }
}
