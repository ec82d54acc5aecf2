//! Refusals tell what to fix: column, row, what was found, what was expected.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

use prep_grade::{Grader, Outcome, RefusalKind, submission};
use serde_json::json;

const ANSWERS: &str = "id,y\na,0\nb,1\nc,1\n";

fn refusal(text: &str) -> (RefusalKind, String) {
    let grader = Grader::parse(&json!({
        "rules": [
            { "columns": ["id", "y"] }, "same_rows", { "numeric": "y" },
            { "range": { "columns": "y", "min": 0, "max": 1, "missing": "ignore" } }, { "align": "id" },
        ],
        "metric": { "roc_auc": "y" },
    }))
    .unwrap();
    let answers = submission::parse(ANSWERS.as_bytes()).unwrap();
    match grader.grade_bytes(&answers, text.as_bytes()) {
        Outcome::Refused(refusal) => (refusal.kind, refusal.to_string()),
        Outcome::Score { value, .. } => panic!("{text:?} has the score {value}"),
    }
}

#[test]
fn messages() {
    use RefusalKind::{Ids, Missing, MissingColumn, Range, RowCount, Type, Unreadable};
    let table = [
        (
            "",
            MissingColumn,
            "column `id`: the submission has no such column: the file is empty",
        ),
        (
            "id,Y\na,1\nb,1\nc,1\n",
            MissingColumn,
            "column `y`: the submission has no such column, but `Y`, which must be spelled `y`",
        ),
        (
            "id;y\na;1\n",
            MissingColumn,
            "column `id`: the submission has no such column: its fields must be separated by commas",
        ),
        (
            "id,y\na,1\n",
            RowCount,
            "the submission has 1 row, 2 too few: expected 3",
        ),
        (
            "id,y\na,1\nb,x\nc,1\n",
            Type,
            "column `y`, row 2: found `x`, expected a number",
        ),
        (
            "id,y\na,1\nb,0.5\nc,1.5\n",
            Range,
            "column `y`, row 3: found `1.5`, expected a number from 0.0 to 1.0",
        ),
        (
            "id,y\nc,1\nb,\na,1\n",
            Missing,
            "column `y`, row 2: found nothing, expected a number",
        ),
        (
            "id,y\na,1\nb,1\nd,1\n",
            Ids,
            "column `id`, row 3: found `d`, expected `c`: identifiers must be those of the answers",
        ),
        (
            "PK\u{3}\u{4}",
            Unreadable,
            "the file is a zip archive (or an Excel workbook), not a CSV",
        ),
    ];
    for (text, kind, message) in table {
        assert_eq!(refusal(text), (kind, message.to_owned()), "{text:?}");
    }
}

#[test]
fn limits() {
    let wide = vec!["c"; 10_000].join(",");
    let (kind, message) = refusal(&wide);
    assert_eq!(kind, RefusalKind::Unreadable);
    assert_eq!(
        message,
        "the first line has 10000 fields; at most 4096 columns are read"
    );
    let (kind, message) = refusal(&"x".repeat(2_000_000));
    assert_eq!(kind, RefusalKind::Unreadable);
    assert_eq!(
        message,
        "the first line has 2000000 bytes; at most 1048576 are read"
    );
    // What is repeated of a cell is cut off, between characters.
    let long = "ü".repeat(300_000);
    let (kind, message) = refusal(&format!("id,y\na,1\nb,{long}\nc,1\n"));
    assert_eq!(kind, RefusalKind::Type);
    assert!(message.starts_with("column `y`, row 2: found `üüü") && message.len() < 300);
}

/// What is refused for its rows in the end is refused for them at once, where there are millions.
#[test]
fn of_millions_of_rows_too_many_no_cell_is_read() {
    let answers = submission::parse(ANSWERS.as_bytes()).unwrap();
    let align = json!({ "align": "id" });
    for (rules, rows, expected) in [
        (vec![align.clone()], 1_000_001, RefusalKind::RowCount),
        (
            vec![
                json!({ "range": { "columns": "y", "max": 1 } }),
                align.clone(),
            ],
            1_000_001,
            RefusalKind::RowCount,
        ),
        (
            vec![
                json!({ "range": { "columns": "y", "max": 1 } }),
                align.clone(),
            ],
            10,
            RefusalKind::Range,
        ),
        // Rows may be left out first.
        (
            vec![json!({ "align": { "by": "id", "surplus": "drop" } })],
            1_000_001,
            RefusalKind::Ids,
        ),
    ] {
        let spec = json!({ "rules": rules, "metric": { "accuracy": "y" } });
        let grader = Grader::parse(&spec).unwrap();
        let text = format!("id,y\n{}", "7,8\n".repeat(rows));
        let Outcome::Refused(refusal) = grader.grade_bytes(&answers, text.as_bytes()) else {
            panic!("{spec}");
        };
        assert_eq!(refusal.kind, expected, "{spec}");
    }
}

#[test]
fn hostile_tables_do_not_panic() {
    use proptest::prelude::*;
    let grader =
        |metric| Grader::parse(&json!({ "rules": [{ "align": "id" }], "metric": metric })).unwrap();
    let graders = [
        grader(json!({ "roc_auc": "y" })),
        grader(json!({ "cohen_kappa": "y" })),
        grader(json!({ "f1": { "column": "y", "average": "macro" } })),
        grader(json!({ "root_mean_squared_log_error": "y" })),
        grader(json!({ "log_loss": "y" })),
    ];
    let cell = prop_oneof![
        "[0-9.e+-]{0,6}",
        "[a-c]{0,2}",
        Just("inf".to_owned()),
        Just("True".to_owned())
    ];
    let table = proptest::collection::vec((cell.clone(), cell), 0..40);
    let text = |rows: &[(String, String)]| {
        rows.iter().fold("id,y\n".to_owned(), |text, (id, y)| {
            format!("{text}{id},{y}\n")
        })
    };
    proptest!(|(answers in table.clone(), given in table)| {
        let answers = submission::parse(text(&answers).as_bytes()).unwrap();
        let given = submission::parse(text(&given).as_bytes()).unwrap();
        for grader in &graders {
            grader.grade(&answers, &given);
            let own = grader.grade(&answers, &answers);
            prop_assert_eq!(format!("{own:?}"), format!("{:?}", grader.grade(&answers, &answers)));
        }
    });
}
