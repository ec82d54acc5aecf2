//! Tests that messages about invalid submissions name the column, the row, the actual value and the expected value.

use prep_grade::table::submission;
use prep_grade::{GradeOutcome, Grader, RefusalKind};
use serde_json::json;

const ANSWERS: &str = "id,y\na,0\nb,1\nc,1\n";

fn refusal(text: &str) -> (RefusalKind, String) {
    let section = json!({
        "rules": [
            { "columns": ["id", "y"] }, "same_rows", { "numeric": "y" },
            { "range": { "columns": "y", "min": 0, "max": 1, "missing": "ignore" } }, { "align": "id" },
        ],
        "metric": { "roc_auc": "y" },
    });
    refusal_by(&section, ANSWERS, text)
}

fn refusal_by(section: &serde_json::Value, answers: &str, text: &str) -> (RefusalKind, String) {
    let grader = Grader::parse(section).unwrap();
    let answers = submission::parse(answers.as_bytes()).unwrap();
    match grader.grade_bytes(&answers, text.as_bytes()) {
        GradeOutcome::Invalid(refusal) => (refusal.kind, refusal.to_string()),
        GradeOutcome::Score { value, .. } => panic!("{text:?} has the score {value}"),
    }
}

#[test]
fn messages_name_column_row_and_expected_value() {
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
            "column `y`: the submission has no such column, but a column `Y`; rename it to `y`",
        ),
        (
            "id;y\na;1\n",
            MissingColumn,
            "the fields of the submission are separated by `;`, and must be separated by commas",
        ),
        (
            "\"id\"\t\"y\"\na\t1\n",
            MissingColumn,
            "the fields of the submission are separated by tabs, and must be separated by commas",
        ),
        (
            "id,y\na,1\n",
            RowCount,
            "the submission has 1 row, 2 too few: expected 3; there is no row for `b`",
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
            "the file is not a CSV, but a zip archive or an Excel workbook; unpack the archive, or save the workbook as CSV",
        ),
        (
            "a,b\n1,2\n",
            MissingColumn,
            "column `id`: the submission has no such column; its first line has 2 columns, but none with a name that this competition uses; it also lacks y",
        ),
    ];
    for (text, kind, message) in table {
        assert_eq!(refusal(text), (kind, message.to_owned()), "{text:?}");
    }
}

#[test]
fn wrong_identifiers_are_named_with_their_row_in_the_file() {
    for (text, message) in [
        // The last row repeats the identifier of the first row.
        (
            "id,y\nb,1\na,1\nb,1\n",
            "column `id`, row 3: `b` is repeated, and there is no row for `c`",
        ),
        (
            "id,y\nc,1\nc,1\nc,1\n",
            "column `id`, row 2: `c` is repeated, and there is no row for `a`",
        ),
        (
            "id,y\nz,1\ny,1\nx,1\n",
            "column `id`, row 1: found `z`, expected an identifier of the answers; 3 of 3 rows have unknown identifiers",
        ),
        (
            "id,y\nd,1\nb,1\na,1\n",
            "column `id`, row 1: found `d`, expected `c`: identifiers must be those of the answers",
        ),
        (
            "id,y\n,1\nb,1\na,1\n",
            "column `id`, row 1: found nothing, expected `c`: identifiers must be those of the answers",
        ),
    ] {
        assert_eq!(
            refusal(text),
            (RefusalKind::Ids, message.to_owned()),
            "{text:?}"
        );
    }
}

#[test]
fn first_wrong_cell_in_file_order_is_named() {
    let section = |metric: &str| json!({ "rules": [{ "align": "id" }], "metric": { metric: "y" } });
    let labels = "id,y\na,True\nb,False\nc,True\n";
    for (metric, answers, text, kind, message) in [
        (
            "accuracy",
            labels,
            "id,y\nc,0.7\nb,0.6\na,0.5\n",
            RefusalKind::Type,
            "column `y`, row 1: found `0.7`, expected True or False",
        ),
        (
            "accuracy",
            ANSWERS,
            "id,y\nc,1\nb,0.6\na,0.5\n",
            RefusalKind::Type,
            "column `y`, row 2: found `0.6`, expected a class label: an integer or a name",
        ),
        (
            "accuracy",
            labels,
            "id,y\nc,True\nb,\na,True\n",
            RefusalKind::Missing,
            "column `y`, row 2: found nothing, expected a label",
        ),
        (
            "mean_absolute_error",
            ANSWERS,
            "id,y\nc,x\nb,\na,z\n",
            RefusalKind::Type,
            "column `y`, row 1: found `x`, expected a number",
        ),
    ] {
        let found = refusal_by(&section(metric), answers, text);
        assert_eq!(found, (kind, message.to_owned()), "{text:?}");
    }
}

/// pandas reads an entire column as text because of one cell. The message must name this cell, not the first one.
#[test]
fn the_cell_that_makes_a_column_text_is_named() {
    let align = json!({ "align": "id" });
    let rules = [
        json!({ "numeric": "y" }),
        json!({ "numeric": { "columns": "y", "text": "convert" } }),
        json!({ "finite": "y" }),
        json!({ "range": { "columns": "y", "min": 0, "max": 1 } }),
        json!({ "rows_sum_to": { "columns": ["y"] } }),
        json!({ "rows_sum_to": { "columns": ["y"], "decimals": 3 } }),
    ];
    let by_rule = rules.map(|rule| (json!([rule, align]), json!({ "mean_absolute_error": "y" })));
    let metrics = [
        "mean_absolute_error",
        "root_mean_squared_error",
        "roc_auc",
        "pearson",
        "r2",
    ];
    let by_metric = metrics.map(|metric| (json!([align]), json!({ metric: "y" })));
    let answers = "id,y\na,0\nb,1\nc,0\nd,1\n";
    for (rules, metric) in by_rule.into_iter().chain(by_metric) {
        let section = json!({ "rules": rules, "metric": metric });
        for (text, row) in [
            ("id,y\na,0.5\nd,1\nc,cat\nb,0\n", 3),
            ("id,y\nd,0.5\nc,1\nb,1.0x\na,x\n", 3),
        ] {
            let (kind, message) = refusal_by(&section, answers, text);
            assert_eq!(kind, RefusalKind::Type, "{section} {text:?}: {message}");
            let place = format!("column `y`, row {row}: found ");
            assert!(message.starts_with(&place), "{section} {text:?}: {message}");
        }
    }
}

#[test]
fn empty_cell_is_reported_as_missing_not_as_wrong_sum() {
    let section = json!({
        "rules": [{ "rows_sum_to": { "columns": ["p", "q", "r"] } }],
        "metric": { "log_loss": ["p", "q", "r"] },
    });
    let answers = "p,q,r\n1,0,0\n0,1,0\n";
    for (text, kind, message) in [
        (
            "p,q,r\n1,0,0\n,0.75,0\n",
            RefusalKind::Missing,
            "column `p`, row 2: found nothing, expected a number: without this cell, the row sums to 0.75 instead of 1.0",
        ),
        (
            "p,q,r\n1,0,0\n0,0.75,0\n",
            RefusalKind::Range,
            "row 2: p, q, r sum to 0.75, expected 1.0",
        ),
    ] {
        assert_eq!(
            refusal_by(&section, answers, text),
            (kind, message.to_owned())
        );
    }
}

#[test]
fn saved_index_column_is_recognised() {
    let section = json!({ "rules": [{ "exact_columns": {} }], "metric": { "roc_auc": "y" } });
    let (kind, message) = refusal_by(&section, ANSWERS, ",id,y\n0,a,1\n1,b,0\n2,c,1\n");
    assert_eq!(kind, RefusalKind::SurplusColumn);
    assert!(message.contains("if it is an index"), "{message}");
}

#[test]
fn oversized_first_lines_are_rejected() {
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
    let long = "ü".repeat(300_000);
    let (kind, message) = refusal(&format!("id,y\na,1\nb,{long}\nc,1\n"));
    assert_eq!(kind, RefusalKind::Type);
    assert!(message.starts_with("column `y`, row 2: found `üüü") && message.len() < 300);
}

#[test]
fn wrong_number_of_rows_is_reported_without_reading_cells() {
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
        // An earlier rule may drop rows, so the number of rows is not checked first.
        (
            vec![json!({ "align": { "by": "id", "surplus": "drop" } })],
            1_000_001,
            RefusalKind::Ids,
        ),
    ] {
        let spec = json!({ "rules": rules, "metric": { "accuracy": "y" } });
        let grader = Grader::parse(&spec).unwrap();
        let text = format!("id,y\n{}", "7,8\n".repeat(rows));
        let GradeOutcome::Invalid(refusal) = grader.grade_bytes(&answers, text.as_bytes()) else {
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
