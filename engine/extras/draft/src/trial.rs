//! Grades the first rows of a table with the metric that the author chose, because a metric may not fit the target's type.

use prep_grade::{GradeOutcome, Grader, MetricDraft, Refusal, RefusalKind};
use serde_json::json;

/// A column that a draft predicts.
pub struct TrialColumn<'a> {
    pub name: &'a str,
    /// The answer of each row. A missing answer is an empty string.
    pub answers: Vec<String>,
    /// The value that this column of the sample submission has in all rows.
    pub placeholder: String,
}

/// The reason why a submission of placeholders has no score.
pub struct Misfit {
    pub refusal: Refusal,
    /// Whether the metric gives the answers themselves a score. If so, the metric fits the target, but not the
    /// placeholders.
    pub fits_answers: bool,
}

/// Grades a submission of placeholders. Returns `None` if it has a score. `masks` states whether an empty answer is an empty
/// mask.
pub fn misfit(
    metric: &MetricDraft,
    id: &str,
    columns: &[TrialColumn<'_>],
    masks: bool,
) -> Option<Misfit> {
    let rows = columns.iter().map(|column| column.answers.len()).min()?;
    let header = std::iter::once(id).chain(columns.iter().map(|column| column.name));
    let header: Vec<String> = header.map(quoted).collect();
    let table = |cell: &dyn Fn(&TrialColumn<'_>, usize) -> String| {
        let mut text = format!("{}\n", header.join(","));
        for row in 0..rows {
            let cells = columns.iter().map(|column| cell(column, row));
            let cells = std::iter::once(row.to_string()).chain(cells);
            text += &format!("{}\n", cells.collect::<Vec<_>>().join(","));
        }
        text
    };
    let answers = table(&|column, row| quoted(column.answers.get(row).map_or("", String::as_str)));
    let sample = table(&|column, _| quoted(&column.placeholder));
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let fill = json!({ "fill_missing": { "columns": names, "with": "", "answers": true } });
    let rules = masks.then_some(fill).into_iter();
    let rules: Vec<_> = rules.chain([json!({ "align": id })]).collect();
    let grader = Grader::parse(&json!({ "rules": rules, "metric": metric.metric })).ok()?;
    let frame = grader.read_answers(answers.as_bytes()).ok()?;
    if let Some((counts, Some(max))) = grader.classes_of_rows(&frame) {
        let mut wrong = counts
            .into_iter()
            .filter(|count| *count == 0 || *count > max);
        if let Some(count) = wrong.next() {
            let message = format!("each column is a class, but a row has {count} classes");
            return Some(Misfit {
                refusal: Refusal::new(RefusalKind::Range, message),
                fits_answers: false,
            });
        }
    }
    match grader.grade_bytes(&frame, sample.as_bytes()) {
        GradeOutcome::Invalid(refusal) if rows > 0 => {
            let perfect = grader.grade_bytes(&frame, answers.as_bytes());
            Some(Misfit {
                refusal,
                fits_answers: matches!(perfect, GradeOutcome::Score { .. }),
            })
        }
        _ => None,
    }
}

/// Writes a cell of a CSV file.
fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}
