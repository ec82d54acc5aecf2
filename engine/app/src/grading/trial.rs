//! The trial of a competition: grades the sample submission, the answers and an empty submission while the competition is
//! prepared. Therefore the author finds mistakes in the section `grade` before a participant does.

use std::collections::BTreeSet;
use std::sync::Arc;

use prep_core::{chain, units};
use prep_formats::pandas::{CellValue, ColumnData, Frame};
use prep_grade::metrics::{Direction, QueryFailure};
use prep_grade::table::submission;
use prep_grade::{GradeOutcome, Grader, Refusal, RefusalKind, positive_label};
use prep_spec::model::{Grade, Output, Spanned};
use prep_spec::{Diagnostic, Diagnostics, Pipeline, SourceFile, Span, decimal_comma, joined};
use prep_steps::{Trial, TrialError};
use serde_json::{Value, json};

use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::grading::pitfalls;
use crate::grading::rules::grader;
use crate::stages::load::GRADE;

/// Scores that differ by at most this number are treated as equal. For example, the best log loss is zero. If the
/// answers are graded as a submission, their log loss is slightly higher, because the metric clips probabilities.
const TOLERANCE: f64 = 1e-5;

/// Maximum number of columns in a warning.
const MAX_NAMES: usize = 5;

/// The usual name of the public table of test items.
const TEST_TABLE: &str = "test.csv";

/// If the answers and the sample submission together have more bytes, the trial does not grade them. The limit is lower
/// for a built-in competition, because this project's tests already grade its sample. With the higher limit, a run of
/// built-in competitions would spend a quarter of its time on trials.
pub(crate) const MAX_BYTES: u64 = 16 << 20;
pub(crate) const MAX_BYTES_BUILT_IN: u64 = 1 << 20;

/// Returns the trial of a competition. A run executes the trial later. Returns `None` if the pipeline has no section
/// `grade`, or if its sample submission is not a CSV file.
pub(crate) fn trial(entry: &CatalogEntry, pipeline: &Pipeline) -> Option<Trial> {
    let (grader, answers) = grader(entry, pipeline).ok()?;
    let grade = pipeline.grade.as_ref()?;
    let sample = grade.value.sample.clone();
    let stated = grade.value.invalid_sample.clone();
    if !sample.value.ends_with(".csv") {
        return None;
    }
    let params = json!({
        "answers": answers,
        "sample": sample.value,
        "rules": grade.value.rules,
        "invalid_sample": stated.is_some(),
    });
    let places = Places::of(pipeline)?;
    let is_own = !entry.is_built_in();
    let is_test = |output: &Output| is_own && output.path.value == TEST_TABLE;
    let has_test = !grader.identifiers().is_empty() && pipeline.public.iter().any(is_test);
    Some(Trial {
        params,
        answers,
        sample: sample.value,
        test: has_test.then(|| format!("public/{TEST_TABLE}")),
        max_bytes: if is_own {
            MAX_BYTES
        } else {
            MAX_BYTES_BUILT_IN
        },
        grade: Arc::new(move |files, test| {
            grade_all(&grader, files, test, stated.as_deref(), is_own)
                .map_err(|mistake| mistake.in_pipeline(&places))
        }),
    })
}

/// The positions in the pipeline at which mistakes are reported.
pub(super) struct Places {
    answers: Span,
    sample: Span,
    grade: Spanned<Grade>,
    source: Arc<SourceFile>,
}

impl Places {
    /// Returns `None` if the pipeline has no section `grade`.
    pub(super) fn of(pipeline: &Pipeline) -> Option<Places> {
        let grade = pipeline.grade.clone()?;
        let output = |path: &Spanned<String>| {
            let outputs = pipeline.public.iter().map(|output| ("public/", output));
            let private = pipeline.private.iter().map(|output| ("private/", output));
            let mut outputs = outputs.chain(private);
            let is_it = |(section, output): &(&str, &Output)| {
                path.value.strip_prefix(section) == Some(output.path.value.as_str())
            };
            outputs
                .find(is_it)
                .map_or(path.span, |(_, output)| output.path.span)
        };
        Some(Places {
            answers: output(&grade.value.answers),
            sample: output(&grade.value.sample),
            grade,
            source: Arc::clone(&pipeline.source),
        })
    }

    /// If `refusal` means that no submission can be graded with these answers, returns the error with its position in the
    /// pipeline.
    pub(super) fn locate(
        &self,
        grader: &Grader,
        answers: &Frame,
        refusal: &Refusal,
    ) -> Option<Error> {
        let mistake = Mistake::in_answers(grader, answers, refusal)?.in_pipeline(self);
        let mut found = Diagnostic::error(GRADE, mistake.span, mistake.message);
        found.help = mistake.help;
        Some(Diagnostics::single(Arc::clone(&self.source), found).into())
    }
}

/// A mistake that a trial finds.
enum Mistake {
    Answers(String),
    Metric(Refusal),
    /// The metric cannot grade the answers.
    Misfit {
        /// Name of the metric.
        metric: &'static str,
        cause: String,
        help: String,
    },
    Sample {
        cause: String,
        help: String,
    },
}

impl Mistake {
    /// Returns the mistake of the author if `refusal` is about the answers, and not about a submission.
    fn in_answers(grader: &Grader, answers: &Frame, refusal: &Refusal) -> Option<Mistake> {
        if refusal.kind != RefusalKind::Answers {
            return None;
        }
        let (name, cause) = (refusal.column.as_deref(), refusal.to_string());
        let has_column = name.is_none_or(|name| answers.column(name).is_some());
        Some(match refusal.is_of_metric && has_column {
            true => Mistake::Misfit {
                metric: grader.metric().definition.name,
                cause,
                help: help_of_misfit(grader, refusal, answers),
            },
            false => Mistake::Answers(cause),
        })
    }

    fn in_pipeline(self, places: &Places) -> TrialError {
        let grade = &places.grade.value;
        match self {
            Mistake::Answers(cause) => TrialError {
                message: format!("the answers are invalid: {cause}"),
                help: Some("correct the output that contains the answers".to_owned()),
                span: places.answers,
            },
            Mistake::Metric(refusal) => {
                let failure = refusal
                    .failure
                    .map_or_else(QueryFailure::default, |failure| *failure);
                let message = format!(
                    "the query of the metric cannot score the sample submission: {}",
                    failure.message
                );
                let span = grade.locate(&places.source, &failure.query, failure.place);
                TrialError {
                    message,
                    help: failure.help,
                    span: span.unwrap_or(places.grade.span),
                }
            }
            Mistake::Misfit {
                metric,
                cause,
                help,
            } => TrialError {
                message: format!("the metric `{metric}` does not fit the answers: {cause}"),
                help: Some(help),
                span: grade
                    .places
                    .get("/metric")
                    .copied()
                    .unwrap_or(places.grade.span),
            },
            Mistake::Sample { cause, help } => TrialError {
                message: format!(
                    "the sample submission `{}` is invalid: {cause}",
                    grade.sample.value
                ),
                span: places.sample,
                help: Some(format!(
                    "{help}; if the sample must stay invalid, state why: `grade: {{ invalid_sample: REASON }}`"
                )),
            },
        }
    }
}

/// Grades the sample submission, the answers, and a submission without rows. Returns the outcomes and warnings as JSON.
///
/// `test` is the public table of test items, if there is one. `stated` is the reason that the pipeline states for an invalid
/// sample submission, if any. `is_own` is false for a built-in competition.
fn grade_all(
    grader: &Grader,
    [answers, sample]: [&[u8]; 2],
    test: Option<&[u8]>,
    stated: Option<&str>,
    is_own: bool,
) -> Result<Value, Mistake> {
    let frame = grader.read_answers(answers);
    let frame = frame.map_err(|error| Mistake::Answers(chain(&error)))?;
    let grade = |submission: &[u8]| grader.grade_bytes(&frame, submission);
    let of_sample = grade(sample);
    if let (GradeOutcome::Invalid(refusal), None) = (&of_sample, stated) {
        let cause = refusal.to_string();
        let lacks_column = refusal
            .column
            .as_deref()
            .is_some_and(|name| frame.column(name).is_none());
        // For example, a metric may be undefined if all answers have the same value. In a user's competition, this is
        // an error, because the author can correct it. In a built-in competition, it is a warning, because its split is
        // fixed.
        if refusal.kind == RefusalKind::Answers && !lacks_column && !is_own {
            let warning = format!("no submission can be compared with the answers: {cause}");
            return Ok(json!({ "skipped": "the answers are unsuitable", "warnings": [warning] }));
        }
        let of_rows = matches!(refusal.kind, RefusalKind::Ids | RefusalKind::RowCount);
        // No submission can be paired with answers that have two rows for the same item.
        if let Some(cause) = pitfalls::repeated_ids(grader, &frame).filter(|_| of_rows) {
            return Err(Mistake::Answers(cause));
        }
        // A metric checks the answers before the predictions.
        if let Some(mistake) = Mistake::in_answers(grader, &frame, refusal) {
            return Err(mistake);
        }
        let with_numbers = with_numbers(refusal, &frame, sample);
        let of_numbers = with_numbers.map(|numbers| grader.grade(&frame, &numbers));
        let has_numbers = matches!(of_numbers, Some(GradeOutcome::Score { .. }));
        // Ids of some answers may be missing for another reason, for example a condition in the query of the sample.
        let other_ids = || pitfalls::ids_without_row(grader, &frame, sample);
        let has_other_ids = of_rows && other_ids().is_some_and(|ids| ids.len() == frame.rows);
        return Err(match refusal.kind {
            RefusalKind::Metric => Mistake::Metric(refusal.clone()),
            _ if has_other_ids => Mistake::Sample {
                cause: format!("its ids differ from those of the answers: {cause}"),
                help: "select the sample and the answers from the same table".to_owned(),
            },
            _ => Mistake::Sample {
                cause,
                help: match (has_numbers, &refusal.column) {
                    (true, Some(name)) => {
                        format!("write numbers into the sample, for example `0.5 AS {name}`")
                    }
                    _ => "correct the sample or the rules".to_owned(),
                },
            },
        });
    }
    let header = sample.iter().position(|byte| *byte == b'\n');
    let header = header.map_or(sample.len(), |end| end + 1);
    let of_empty = grade(sample.get(..header).unwrap_or_default());
    let of_answers = grade(answers);
    let mut warnings = Vec::new();
    if let GradeOutcome::Invalid(refusal) = &of_answers
        && refusal.kind == RefusalKind::Answers
    {
        warnings.push(format!(
            "no submission can be compared with the answers: {refusal}"
        ));
    }
    if of_sample.rounded().is_some() && stated.is_some() {
        warnings.push("the sample submission is valid; remove `invalid_sample`".to_owned());
    }
    if let Some(score) = of_empty.rounded() {
        warnings.push(format!(
            "a submission without rows is valid and has the score {score}"
        ));
    }
    if let (Some(score), Some(best)) = (of_answers.rounded(), grader.best_score())
        && is_worse(score, best, grader.direction())
    {
        let cause = grader.imperfection();
        let cause = cause.map_or_else(String::new, |cause| format!("; {cause}"));
        warnings.push(format!(
            "the answers, graded as a submission, have the score {score}, but the best possible score is {best}{cause}"
        ));
    }
    match (of_sample.rounded(), of_answers.rounded()) {
        (Some(sample), _) if sample.is_nan() => warnings.push(
            "the sample submission has no score (NaN), for example because it is constant".to_owned(),
        ),
        (Some(sample), Some(answers)) if is_worse(answers, sample, grader.direction()) => {
            warnings.push(format!(
                "the score {sample} of the sample submission is better than the score {answers} of the answers; check the `direction`"
            ));
        }
        (Some(sample), Some(answers)) if is_own && sample == answers => warnings.push(format!(
            "the metric does not distinguish the sample submission from the answers: both have the score {sample}; compare \
             these two files, and check the metric"
        )),
        _ => {}
    }
    let zeros = zero_columns(grader, &frame, sample);
    if let (true, [first, rest @ ..]) = (is_own, zeros.as_slice()) {
        let more = match rest.len() {
            0 => String::new(),
            count => format!(" and in {}", units::count(count as u64, "further column")),
        };
        warnings.push(format!(
            "the answers are 0 in every row in the column `{first}`{more}; check the query that writes the answers"
        ));
    }
    let graded = [
        ("the answers", answers, &of_answers),
        ("the rows of the sample submission", sample, &of_sample),
    ];
    // Only a user's competition gets the warning about rows paired by position, because the rules of a built-in competition
    // are fixed.
    let mut graded = graded.into_iter().filter(|_| is_own);
    let change = graded.find_map(|(name, file, outcome)| {
        let score = outcome.rounded().filter(|score| !score.is_nan())?;
        let file = reversed(file, frame.rows)?;
        let other = grade(&file).rounded()?;
        let is_equal = (score - other).abs() <= 10.0 * TOLERANCE * score.abs().max(1.0);
        (!is_equal).then(|| format!("{name} have the score {other} instead of {score}"))
    });
    if let Some(change) = change {
        warnings.push(format!(
            "rows are paired by position: if the rows are in reverse order, {change}; pair rows by id, for example with the rule `align`"
        ));
    }
    if !grader.queries().is_empty()
        && let Some((columns, rules, GradeOutcome::Score { rounded, .. })) =
            grade_with_gaps(grader, &frame, sample)
    {
        warnings.push(format!(
            "a submission with values of {columns} only in its first row is valid, with the score {rounded}; reject empty cells \
             before the query of the metric runs, for example with {rules}"
        ));
    }
    if is_own {
        warnings.extend(pitfalls::in_files(grader, &frame, [answers, sample], test));
    }
    Ok(json!({
        "sample": outcome(&of_sample),
        "answers": outcome(&of_answers),
        "empty": outcome(&of_empty),
        "warnings": warnings,
    }))
}

/// Returns the sample submission with numbers in the column in which the metric rejected a text.
fn with_numbers(refusal: &Refusal, answers: &Frame, sample: &[u8]) -> Option<Frame> {
    let is_text = refusal.is_of_metric && refusal.kind == RefusalKind::Type;
    let name = refusal.column.as_deref().filter(|_| is_text)?;
    answers.column(name)?;
    let mut frame = submission::parse(sample).ok()?;
    let (rows, mut columns) = (frame.rows, frame.columns.iter_mut());
    let column = columns.find(|column| column.name == name)?;
    column.data = ColumnData::Float64(std::iter::repeat_n(0.5, rows).collect());
    Some(frame)
}

/// Returns the suggestion for answers that the metric rejects with `refusal`.
fn help_of_misfit(grader: &Grader, refusal: &Refusal, answers: &Frame) -> String {
    let column = refusal.column.as_deref();
    let column = column.and_then(|name| answers.column(name));
    let texts = column.map(|column| (0..answers.rows).map(|row| column.text(row)));
    let texts: Vec<_> = texts.into_iter().flatten().collect();
    let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
    let different: BTreeSet<_> = texts.iter().collect();
    let decimals = column.and_then(|column| {
        let mut texts = texts.iter().flatten();
        let query = texts.find_map(|text| decimal_comma(&column.name, text))?;
        Some(format!("{query} AS \"{}\"", column.name))
    });
    if let Some(query) = decimals {
        return format!(
            "convert the decimal commas in the query of the answers, for example `{query}`, or choose another metric"
        );
    }
    let mut parameters = grader.metric().definition.parameters.iter();
    // The error has no row, because each label is valid, but not all of them together.
    if parameters.any(|one| one.name == "positive") && refusal.row.is_none() {
        let labels = different.iter().copied().flatten();
        let labels = labels.map(|label| format!("`positive: {}`", positive_label(label)));
        let labels: Vec<String> = labels.collect();
        if labels.len() == 2 {
            return format!("state the positive label: {}", labels.join(" or "));
        }
    }
    let labels = column.and_then(|column| prep_draft::label_as_boolean(&column.name, &texts));
    if let Some(query) = labels {
        return format!(
            "write numbers into the answers, for example `{query}`, or choose another metric"
        );
    }
    match refusal.row.is_none() && different.len() == 1 {
        true => "use `stratify` or a larger `test_size` in the split, correct the output that contains the answers, or choose another metric".to_owned(),
        false => "choose a metric for such answers, or correct the output that contains them".to_owned(),
    }
}

/// Returns a CSV file with the rows of `file` in reverse order. Returns `None` if `file` has only one column, contains
/// quotes, or does not have `rows` rows.
fn reversed(file: &[u8], rows: usize) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(file).ok()?;
    let (header, body) = text
        .split_once('\n')
        .filter(|(header, _)| header.contains(','))?;
    let lines: Vec<&str> = body.lines().rev().collect();
    let is_simple = lines.len() == rows && lines.iter().all(|line| !line.contains('"'));
    is_simple.then(|| format!("{header}\n{}\n", lines.join("\n")).into_bytes())
}

/// Returns the columns of the answers that are 0 in every row, except ids and columns that the sample submission lacks.
/// For example, the query of the answers may search for a class whose name is written differently in the data.
fn zero_columns(grader: &Grader, answers: &Frame, sample: &[u8]) -> Vec<String> {
    let Ok(sample) = submission::parse(sample) else {
        return Vec::new();
    };
    let ids = grader.identifiers();
    let is_predicted = |name: &str| {
        !ids.contains(&name) && sample.columns.iter().any(|column| column.name == name)
    };
    let is_zero = |cell| match cell {
        CellValue::Int(value) => value == 0,
        CellValue::Float(value) => value == 0.0,
        _ => false,
    };
    let columns = answers.columns.iter().filter(|column| {
        answers.rows > 0 && is_predicted(&column.name) && column.data.values().all(is_zero)
    });
    columns.map(|column| column.name.clone()).collect()
}

/// Grades the sample submission with predictions only in its first row. Such a submission should be invalid. However,
/// aggregates of SQL skip missing values, so the query of a metric might compute a score from this row alone.
///
/// The columns that pair rows keep all their cells. If no rule names such columns, these are the columns by which the
/// queries join. Also returns the names of the columns that lose cells, and rules that reject such cells. Returns `None` if
/// there are no such columns, or if the sample submission has fewer than two rows.
fn grade_with_gaps(
    grader: &Grader,
    answers: &Frame,
    sample: &[u8],
) -> Option<(String, String, GradeOutcome)> {
    let mut ids = grader.identifiers_of_rules();
    if ids.is_empty() {
        ids = grader.identifiers();
    }
    let mut frame = submission::parse(sample).ok()?;
    let names = frame.columns.iter().map(|column| column.name.as_str());
    let names = names.filter(|name| !ids.contains(name));
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if frame.rows < 2 || names.is_empty() {
        return None;
    }
    let mut rules = Vec::new();
    for column in &mut frame.columns {
        if !ids.contains(&column.name.as_str()) {
            let rule = match &column.data {
                ColumnData::Object(_) => "text",
                _ => "finite",
            };
            rules.push(format!("`{rule}: {}`", column.name));
            let cells = column.data.values().enumerate();
            let cells = cells.map(|(row, cell)| match row {
                0 => cell,
                _ => CellValue::Missing,
            });
            column.data = match &column.data {
                ColumnData::Object(_) | ColumnData::Bool(_) => ColumnData::Object(cells.collect()),
                // Integers with missing cells are doubles in pandas.
                _ => {
                    let numbers = cells.map(|cell| match cell {
                        CellValue::Int(value) => value as f64,
                        CellValue::UInt(value) => value as f64,
                        CellValue::Float(value) => value,
                        _ => f64::NAN,
                    });
                    ColumnData::Float64(numbers.collect())
                }
            };
        }
    }
    let [names, rules] = [names, rules].map(|all| joined(all.into_iter(), MAX_NAMES));
    Some((names, rules, grader.grade(answers, &frame)))
}

/// Returns whether `score` is worse than `best` by more than [`TOLERANCE`]. If one of them is NaN, returns `true`.
pub(super) fn is_worse(score: f64, best: f64, direction: Direction) -> bool {
    let difference = match direction {
        Direction::HigherIsBetter => best - score,
        Direction::LowerIsBetter => score - best,
    };
    difference.is_nan() || difference > TOLERANCE
}

fn outcome(outcome: &GradeOutcome) -> Value {
    match outcome {
        GradeOutcome::Score { rounded, .. } if rounded.is_finite() => {
            json!({ "valid": true, "score": rounded })
        }
        GradeOutcome::Score { rounded, .. } => {
            json!({ "valid": true, "score": rounded.to_string() })
        }
        GradeOutcome::Invalid(refusal) => {
            json!({ "valid": false, "reason": refusal.to_string() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grading::metric_query::MetricQueries;

    /// Grades a sample submission. Returns the warnings, or the mistake. `is_own` is false for a built-in competition.
    fn grade_as(is_own: bool, rules: Value, answers: &str, sample: &str) -> Result<String, String> {
        let grader = Grader::parse(&rules).unwrap();
        let graded = grade_all(
            &grader,
            [answers, sample].map(str::as_bytes),
            None,
            None,
            is_own,
        );
        match graded {
            Ok(found) => Ok(found["warnings"].to_string()),
            Err(Mistake::Answers(cause)) => Err(format!("answers: {cause}")),
            Err(Mistake::Metric(refusal)) => Err(format!("metric: {refusal}")),
            Err(Mistake::Misfit {
                metric,
                cause,
                help,
            }) => Err(format!("{metric}: {cause}; {help}")),
            Err(Mistake::Sample { cause, help }) => Err(format!("sample: {cause}; {help}")),
        }
    }

    fn grade(rules: Value, answers: &str, sample: &str) -> Result<String, String> {
        grade_as(true, rules, answers, sample)
    }

    #[test]
    fn a_mistake_names_the_part_of_the_pipeline_that_causes_it() {
        let section = |metric: Value| json!({ "rules": [{ "align": "id" }], "metric": metric });
        let auc = || section(json!({ "roc_auc": "y" }));
        let good = "id,y\n1,0\n2,1\n";
        assert_eq!(grade(auc(), good, "id,y\n1,0.5\n2,0.5\n").unwrap(), "[]");
        let same = "id,y\n1,1\n2,1\n";
        let one_class = grade_as(false, auc(), same, good).unwrap();
        assert!(
            one_class.contains("no submission can be compared"),
            "{one_class}"
        );
        let one_class = grade(auc(), same, good).unwrap_err();
        assert!(one_class.starts_with("roc_auc:"), "{one_class}");
        let numbers = grade(auc(), "id,y\n1,96.25\n2,1\n", good).unwrap_err();
        assert!(
            numbers.starts_with("roc_auc: column `y`, row 1: the answers contain `96.25`"),
            "{numbers}"
        );
        let r2 = || section(json!({ "r2": "y" }));
        let (texts, numbers) = ("id,y\n1,a\n2,b\n", "id,y\n1,3\n2,4\n");
        let text = grade(r2(), texts, texts).unwrap_err();
        assert!(
            text.starts_with("r2: column `y`, row 1: the answers contain `a`"),
            "{text}"
        );
        let (labels, halves) = ("id,y\n1,yes\n2,no\n", "id,y\n1,0.5\n2,0.5\n");
        let positive =
            section(json!({ "average_precision": { "columns": "y", "positive": "yes" } }));
        assert_eq!(grade(positive.clone(), labels, halves).unwrap(), "[]");
        let text = grade(positive, labels, labels).unwrap_err();
        let expected = "expected a number, in a column of numbers; write numbers into the sample, for example `0.5 AS y`";
        assert!(
            text.starts_with("sample: ") && text.ends_with(expected),
            "{text}"
        );
        let swapped = "id,y\n1,ja\n2,nein\n";
        for metric in ["roc_auc", "log_loss", "brier"] {
            for (labels, sample, positive) in [
                (labels, labels, "yes"),
                (labels, halves, "yes"),
                (swapped, halves, "ja"),
            ] {
                let text = grade(section(json!({ metric: "y" })), labels, sample).unwrap_err();
                assert!(text.starts_with(&format!("{metric}: ")), "{text}");
                let example = format!("for example `y = '{positive}' AS y`");
                assert!(text.contains(&example), "{text}");
            }
        }
        let other_ids = grade(auc(), good, "id,y\n3,0.5\n4,0.5\n").unwrap_err();
        assert!(
            other_ids.contains("its ids differ from those of the answers"),
            "{other_ids}"
        );
        let text = grade(r2(), texts, numbers).unwrap_err();
        assert!(
            text.starts_with("r2: column `y`, row 1: the answers"),
            "{text}"
        );
        let text = grade(r2(), numbers, texts).unwrap_err();
        assert!(text.starts_with("sample: column `y`"), "{text}");
        let no_id = grade(auc(), "no,y\n1,0\n2,1\n", good).unwrap_err();
        assert!(no_id.starts_with("answers:"), "{no_id}");
        let too_short = grade(auc(), good, "id,y\n1,0.5\n").unwrap_err();
        assert!(too_short.starts_with("sample:"), "{too_short}");
        let opposite = json!({ "metric": { "root_mean_squared_error": "y" }, "direction": "higher_is_better" });
        let opposite = grade(opposite, good, "id,y\n1,9\n2,9\n").unwrap();
        assert!(opposite.contains("check the `direction`"), "{opposite}");
    }

    #[test]
    fn a_sample_without_a_score_has_one_warning() {
        for rules in [json!([]), json!([{ "align": "id" }])] {
            let section = json!({ "rules": rules, "metric": { "pearson": "y" } });
            let found = grade(section, "id,y\n1,5\n2,9\n3,7\n", "id,y\n1,1\n2,1\n3,1\n").unwrap();
            assert!(found.contains("has no score (NaN)"), "{found}");
            assert!(
                !found.contains("instead of NaN") && !found.contains("better than"),
                "{found}"
            );
        }
    }

    #[test]
    fn answers_without_a_positive_row_are_a_warning() {
        let answers = |late: [u8; 2]| format!("id,refund,late\n1,1,{}\n2,0,{}\n", late[0], late[1]);
        for (late, sample, expected) in [
            ([1, 0], "1,0,0\n2,0,0\n", "[]"),
            (
                [0, 0],
                "1,0,1\n2,0,0\n",
                "0 in every row in the column `late`",
            ),
            ([1, 0], "1,1,1\n2,0,0\n", "both have the score 1;"),
        ] {
            let metric = json!({ "f1": { "columns": ["refund", "late"], "average": "micro" } });
            let section = json!({ "rules": [{ "align": "id" }], "metric": metric });
            let sample = format!("id,refund,late\n{sample}");
            let found = grade(section, &answers(late), &sample).unwrap();
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn a_metric_without_its_positive_label_names_the_labels() {
        let rows = |labels: [&str; 3]| {
            let rows = labels.iter().zip(1..);
            let rows: String = rows.map(|(label, id)| format!("{id},{label}\n")).collect();
            format!("id,y\n{rows}")
        };
        let f1 = json!({ "f1": { "column": "y", "average": "binary" } });
        let other = json!({ "average_precision": { "columns": "y", "positive": 7 } });
        for (metric, labels, expected) in [
            (
                &f1,
                ["ja", "nein", "ja"],
                r#"`positive: "ja"` or `positive: "nein"`"#,
            ),
            (&other, ["2", "3", "3"], "`positive: 2` or `positive: 3`"),
            (&f1, ["a", "b", "c"], "choose a metric for such answers"),
        ] {
            let section = json!({ "rules": [{ "align": "id" }], "metric": metric });
            let grader = Grader::parse(&section).unwrap();
            let answers = rows(labels);
            let files = [answers.as_str(), &answers].map(str::as_bytes);
            match grade_all(&grader, files, None, None, true) {
                Err(Mistake::Misfit { help, .. }) => assert!(help.contains(expected), "{help}"),
                _ => panic!("{metric} grades {labels:?}"),
            }
        }
    }

    #[test]
    fn an_f1_averaged_over_rows_warns_about_rows_without_labels() {
        let metric = json!({ "f1": { "columns": ["a", "b"], "average": "samples" } });
        let section = json!({ "rules": [{ "align": "id" }], "metric": metric });
        let found = grade(section, "id,a,b\n1,1,0\n2,0,0\n", "id,a,b\n1,0,1\n2,0,1\n").unwrap();
        let expected = "have the score 0.5, but the best possible score is 1; with `average: samples`, a row without labels";
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn rows_that_are_paired_by_position_are_a_warning() {
        let (answers, sample) = ("id,y\n1,5\n2,9\n3,7\n", "id,y\n1,1\n2,1\n3,1\n");
        for (rules, answers, expected) in [
            (json!([]), answers, "the answers have the score"),
            (json!([{ "align": "id" }]), answers, "[]"),
            (json!([{ "join": "id" }]), answers, "[]"),
            // Without ids, rows can only be paired by position.
            (json!([]), "y\n5\n9\n7\n", "[]"),
        ] {
            let sample = match answers.starts_with("id") {
                true => sample,
                false => "y\n1\n1\n1\n",
            };
            let section = json!({ "rules": rules, "metric": { "root_mean_squared_error": "y" } });
            let found = grade(section, answers, sample).unwrap();
            assert!(found.contains(expected), "{rules}: {found}");
        }
    }

    #[test]
    fn a_query_that_skips_empty_cells_is_a_warning() {
        let warnings = |rule: &str, pairing: Value, condition: &str| {
            let query = format!(
                "SELECT coalesce(avg(abs(a.y - s.y)), 0) FROM answers a JOIN submission s ON {condition}"
            );
            let text = json!({
                "rules": ["same_rows", { rule: "y" }, pairing],
                "metric": { "sql": query, "direction": "lower_is_better" },
            });
            let grader = Grader::parse(&text).unwrap();
            let grader = grader.with_engine(Arc::new(MetricQueries));
            let files = ["id,y\n1,1\n2,4\n3,9\n", "id,y\n1,1\n2,1\n3,1\n"].map(str::as_bytes);
            let found = grade_all(&grader, files, None, None, true);
            found.ok().unwrap()["warnings"].to_string()
        };
        let (by_id, align) = ("a.id = s.id", || json!({ "align": "id" }));
        let skipped = "with values of `y` only in its first row is valid, with the score 0; reject empty cells before the query of \
                       the metric runs, for example with `finite: y`";
        let found = warnings("numeric", align(), by_id);
        assert!(found.contains(skipped), "{found}");
        // The rule `finite` rejects all texts.
        let query = "SELECT coalesce(avg(CAST(a.y = s.y AS BIGINT)), 0) FROM answers a JOIN submission s ON a.id = s.id";
        let metric = json!({ "sql": query, "direction": "higher_is_better" });
        let text = json!({ "rules": [{ "align": "id" }], "metric": metric });
        let grader = Grader::parse(&text).unwrap();
        let grader = grader.with_engine(Arc::new(MetricQueries));
        let files = ["id,y\n1,a\n2,b\n3,b\n", "id,y\n1,a\n2,a\n3,a\n"].map(str::as_bytes);
        let found =
            grade_all(&grader, files, None, None, true).ok().unwrap()["warnings"].to_string();
        assert!(found.contains("for example with `text: y`"), "{found}");
        assert_eq!(warnings("finite", align(), by_id), "[]");
        // A query that joins by the predictions `y` needs their cells, so the trial does not empty them.
        for pairing in [align(), json!("same_rows")] {
            let found = warnings("finite", pairing, "a.y = s.y");
            assert!(!found.contains("values of `y`"), "{found}");
            assert!(found.contains("both have the score 0;"), "{found}");
        }
    }

    #[test]
    fn a_query_that_rewards_repeated_or_missing_rows_is_a_warning() {
        let answers = "id,y\n1,1\n2,4\n3,1\n4,9\n";
        let sample = "id,y\n1,1\n2,1\n3,1\n4,1\n";
        let inner = "SELECT avg(abs(a.y - s.y)) FROM answers a JOIN submission s ON a.id = s.id";
        let outer =
            "SELECT sum(abs(a.y - s.y)) FROM answers a LEFT JOIN submission s ON a.id = s.id";
        let each = "SELECT avg(e) FROM (SELECT max(abs(a.y - coalesce(s.y, 99))) AS e FROM answers a LEFT JOIN submission s ON a.id = s.id GROUP BY a.id)";
        let finite = || json!({ "finite": "y" });
        for (rules, query, expected) in [
            (
                json!([finite()]),
                inner,
                "is repeated, its score is 1.83333",
            ),
            (
                json!(["same_rows", finite()]),
                inner,
                "in place of the others, its score is 0",
            ),
            (json!([finite()]), outer, "is missing, its score is 0"),
            (json!([{ "same_ids": "id" }]), inner, "is repeated"),
            (
                json!([finite()]),
                each,
                "[\"a submission without rows is valid and has the score 95.25\"]",
            ),
            (
                json!(["same_rows", finite(), { "align": "id" }]),
                inner,
                "[]",
            ),
        ] {
            let metric = json!({ "sql": query, "direction": "lower_is_better" });
            let grader = Grader::parse(&json!({ "rules": rules, "metric": metric })).unwrap();
            let grader = grader.with_engine(Arc::new(MetricQueries));
            let files = [answers, sample].map(str::as_bytes);
            let found = grade_all(&grader, files, None, None, true).ok().unwrap();
            let warnings = found["warnings"].to_string();
            assert!(warnings.contains(expected), "{rules} {query}: {warnings}");
        }
    }

    /// Repeated identifiers, identifiers that the test table lacks, and rows without a class are warnings.
    #[test]
    fn implausible_answers_are_warnings() {
        let align = |metric: Value| json!({ "rules": [{ "align": "id" }], "metric": metric });
        let error = || align(json!({ "root_mean_squared_error": "y" }));
        let classes = || align(json!({ "log_loss": ["red", "blue"] }));
        let labels = || align(json!({ "roc_auc": { "columns": ["red", "blue"] } }));
        let (numbers, colours) = (
            "id,y\n1,5\n2,9\n2,7\n",
            "id,red,blue\n1,0,1\n2,0,0\n3,1,0\n",
        );
        for (rules, answers, test, expected) in [
            (
                error(),
                numbers,
                "id,x\n1,0\n2,0\n",
                "row 3: the identifier `2` appears twice",
            ),
            (
                error(),
                &numbers[..13],
                "id,x\n1,0\n7,0\n",
                "1 of 2 identifiers",
            ),
            (error(), &numbers[..13], "id,x\n2,0\n1,0\n0,0\n", "[]"),
            (error(), &numbers[..13], "photo,x\n2,0\n", "[]"),
            (
                classes(),
                colours,
                "id\n1\n2\n3\n",
                "the answers have 1 row without a class, for example row 2",
            ),
            (
                classes(),
                &colours.replace("0,1", "1,1")[..],
                "id\n1\n2\n3\n",
                "the answers have 1 row with several classes, for example row 1, but each row has exactly one class in the metric `log_loss`",
            ),
            (labels(), colours, "id\n1\n2\n3\n", "[]"),
            (
                labels(),
                "id,red,blue\n1,0,1\n2,0,0\n3,1,0\n4,1,0\n5,0,1\n",
                "id\n1\n2\n3\n4\n5\n",
                "the answers have 1 row without a class, for example row 2; check that the query of the answers names all classes",
            ),
        ] {
            let grader = Grader::parse(&rules).unwrap();
            let rows = 1..answers.lines().count();
            let sample = match answers.starts_with("id,red") {
                true => rows.fold("id,red,blue\n".to_owned(), |text, row| {
                    format!("{text}{row},0.5,0.5\n")
                }),
                false => answers.replace('5', "4"),
            };
            let files = [answers, &sample].map(str::as_bytes);
            let found = grade_all(&grader, files, Some(test.as_bytes()), None, true);
            let warnings = found.ok().unwrap()["warnings"].to_string();
            assert!(warnings.contains(expected), "{rules}: {warnings}");
        }
    }
}
