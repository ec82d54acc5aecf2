//! Errors in a pipeline's queries that are reported when the pipeline is loaded, before any file exists.

use prep_sql::Session;

const TABLES: &str = "\
name: X
category: C
bundle: { kaggle: x }
tables:
  frames: { read: frames.npy }
  labels: { read: labels.npy, columns: { value: text } }
  numbered: SELECT _row AS frame, value FROM labels
  texts: { files: '*.txt' }
  lines: { text_lines: texts }
";

/// Returns the errors of an output's query as `code: message`.
fn output_errors(output: &str) -> Vec<String> {
    let text = format!(
        "{TABLES}public:\n  {output}\n  all.csv: SELECT n.frame FROM numbered n, lines, frames\n"
    );
    pipeline_errors(&text)
}

fn pipeline_errors(text: &str) -> Vec<String> {
    let draft = prep_spec::read(prep_steps::vocabulary(), "x", "x.yaml", text);
    let [reading] = draft.readings() else {
        panic!("{text} has {} variants", draft.readings().len());
    };
    let diagnostics = prep_sql::check(&Session::planner(), reading);
    if let Err(error) = draft.clone().finish("v1") {
        panic!("{text}\n{error}");
    }
    let line = |one: &prep_spec::Diagnostic| format!("{}: {}", one.code, one.message);
    diagnostics.iter().map(line).collect()
}

fn assert_error(output: &str, expected: &str) {
    let output_errors = output_errors(output);
    assert!(
        output_errors.iter().any(|one| one.contains(expected)),
        "{output}: {output_errors:?}"
    );
}

#[test]
fn array_entries_can_be_written_to_an_array() {
    for output in [
        "a.npy: SELECT record FROM frames",
        "a.npy: SELECT f.record FROM numbered n JOIN frames f ON f._row = n.frame WHERE n.value <> 'x'",
        "a.npy: SELECT record AS entry FROM labels ORDER BY value",
        "a.csv: SELECT * FROM frames f JOIN numbered n ON n.frame = f._row",
        "a.csv: SELECT * FROM labels",
    ] {
        assert_eq!(output_errors(output), Vec::<String>::new(), "{output}");
    }
}

#[test]
fn array_entries_are_rejected_in_other_outputs_and_in_expressions() {
    for output in [
        "a.csv: SELECT record FROM frames",
        "a.json: SELECT record FROM frames",
        "a.parquet: SELECT _row AS n, record FROM frames",
        "a.txt: { lines: SELECT record FROM frames }",
    ] {
        assert_error(
            output,
            "wrong-columns: `record` contains entries of an array, which only an `npy` output can contain",
        );
    }
    for output in [
        "a.csv: SELECT count(*) AS n FROM frames WHERE record = 'a'",
        "a.csv: SELECT length(record) AS n FROM frames",
        "a.npy: SELECT record FROM frames ORDER BY record",
    ] {
        assert_error(
            output,
            "array-entries: column `record` of table `frames` contains entries of an array, so queries cannot compute with it",
        );
    }
}

#[test]
fn an_array_output_accepts_only_array_entries() {
    for output in [
        "a.npy: SELECT value FROM labels",
        "a.npy: SELECT record, record AS again FROM labels",
        "a.npy: SELECT line FROM lines",
    ] {
        assert_error(
            output,
            "wrong-columns: a query for an array must return only the column",
        );
    }
}

#[test]
fn a_lines_output_needs_a_single_text_column() {
    for output in [
        "a.txt: { lines: SELECT line FROM lines }",
        "a.txt: { lines: 'SELECT number || stem FROM lines WHERE number > 1' }",
        "a.txt: { lines: \"SELECT 'x,[y]' AS line UNION ALL SELECT line FROM lines\" }",
    ] {
        assert_eq!(output_errors(output), Vec::<String>::new(), "{output}");
    }
    for output in [
        "a.txt: { lines: SELECT number FROM lines }",
        "a.txt: { lines: SELECT * FROM lines }",
    ] {
        assert_error(
            output,
            "wrong-columns: a query for lines must return one text column, and optionally one boolean column",
        );
    }
    assert_error(
        "a.csv: SELECT text FROM lines",
        "query: there is no column `text`",
    );
}

#[test]
fn a_table_of_lines_needs_files() {
    let text = "\
name: X
category: C
bundle: { kaggle: x }
tables:
  words: { read: words.csv, columns: { word: text } }
  lines: { text_lines: words }
public:
  a.csv: SELECT line FROM lines
";
    assert_eq!(
        pipeline_errors(text),
        ["missing-column: table `words` has no column `file`"]
    );
}
