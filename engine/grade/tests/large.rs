//! Tests that a submission of millions of rows gets the same score, whether it is read in chunks from a file or from
//! memory.

use std::io::Write as _;

use prep_formats::pandas::FileContent;
use prep_grade::table::submission;
use prep_grade::{GradeOutcome, Grader, ScannedSubmission};
use serde_json::{Value, json};

const ROWS: usize = 1_100_000;

fn grade(section: &Value, answers: &str, text: &str) -> String {
    let grader = Grader::parse(section).unwrap();
    let answers = grader.read_answers(answers.as_bytes()).unwrap();
    let table = submission::parse(text.as_bytes());
    let of_table = table.map_or_else(GradeOutcome::Invalid, |table| {
        grader.grade(&answers, &table)
    });
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let scanned = ScannedSubmission::scan(FileContent::File(&file)).unwrap();
    let of_file = format!("{:?}", grader.grade_scanned(&answers, scanned).unwrap());
    assert_eq!(format!("{of_table:?}"), of_file);
    let of_bytes = grader.grade_bytes(&answers, text.as_bytes());
    assert_eq!(format!("{of_bytes:?}"), of_file);
    of_file
}

fn rows(head: &str, row: impl Fn(usize) -> String) -> String {
    let rows = (0..ROWS).map(|number| row(number) + "\n");
    format!("{head}\n") + &rows.collect::<String>()
}

#[test]
fn repeated_identifiers_are_graded() {
    let section = json!({
        "answers": "a.csv",
        "rules": [{ "columns": ["id", "y"] }, { "same_ids": "id" }, { "join": "id" }],
        "metric": { "mean_absolute_error": { "columns": "y", "groups": "group" } },
    });
    let answers = "id,y,group\n1,0.5,a\n2,1.5,b\n3,7,a\n";
    let valid = rows("y,id,z", |row| format!("{},{},{row}", row % 7, row % 3 + 1));
    assert!(grade(&section, answers, &valid).starts_with("Score"));
    for (row, word) in [
        ("1,9,0", "row 1100001"),
        ("a,1,0", "row 1100001"),
        (",,", "nothing"),
    ] {
        let refused = grade(&section, answers, &format!("{valid}{row}\n"));
        assert!(
            refused.contains(word) || refused.contains("row: Some(1100001)"),
            "{refused}"
        );
    }
}

#[test]
fn wrong_number_of_rows_is_reported_before_invalid_cells() {
    let section = json!({
        "answers": "a.csv",
        "rules": [{ "columns": ["id", "y"] }, { "same_ids": "id" }, { "align": { "by": "id", "check": "none" } }],
        "metric": { "log_loss": "y" },
    });
    let refused = grade(
        &section,
        "id,y\n1,0\n2,1\n",
        &rows("id,y", |row| format!("{row},x")),
    );
    assert!(refused.contains("1100000 rows, expected 2"), "{refused}");
}

#[test]
fn unused_rows_are_not_read() {
    let section = json!({
        "answers": "a.csv",
        "rules": [{ "columns": ["id", "m"] }, { "fill_missing": { "columns": "m", "with": "", "answers": true } }],
        "metric": { "f_beta_of_masks": { "column": "m", "width": "w", "height": "h", "surplus_rows": "ignore" } },
    });
    let answers = "id,m,w,h\n1,1 4,4,4\n2,,4,4\n";
    let rest = |row: usize| match row {
        0 => "1,1 2".to_owned(),
        row if row < 10 => format!("{row},"),
        row => format!("{row},{}", row % 5),
    };
    assert!(grade(&section, answers, &rows("id,m", rest)).starts_with("Score"));
    let refused = grade(
        &section,
        answers,
        &rows("id,m", |row| format!("{row},{row}.5")),
    );
    assert!(refused.contains("found `0.5`"), "{refused}");
}

#[test]
fn short_rows_below_a_wide_header_are_rejected_early() {
    let names: Vec<String> = (0..4000).map(|column| format!("c{column}")).collect();
    let section =
        json!({ "answers": "a.csv", "rules": [], "metric": { "root_mean_squared_error": "c0" } });
    let grader = Grader::parse(&section).unwrap();
    let answers = grader.read_answers(b"c0\n1\n").unwrap();
    let text = rows(&names.join(","), |_| "1".to_owned());
    let refused = format!("{:?}", grader.grade_bytes(&answers, text.as_bytes()));
    let reason =
        "they lack 67167204 fields of the 4000 columns, many more than these rows have bytes";
    assert!(refused.contains(reason), "{refused}");
}
