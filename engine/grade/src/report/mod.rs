//! Writes the reports of the benchmark, MLE-bench, about a single submission and about several submissions.
//!
//! The keys of MLE-bench come first, in the order of MLE-bench. Additional keys follow.
//!
//! This module also parses lists of submissions: JSON lines with the keys `competition_id` and `submission_path`. Empty
//! lines and lines that start with `#` or `//` are skipped.

pub mod medals;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use prep_formats::json::WriteOptions;
use serde_json::Value;

use crate::grader::GradeOutcome;
use crate::refusal::{Refusal, RefusalKind};
use crate::report::medals::{Leaderboard, Medals, Thresholds};

pub use prep_formats::json::{JsonObject, JsonValue};

/// The report about one submission.
#[derive(Debug, Clone, PartialEq)]
pub struct CompetitionReport {
    /// Id of the competition.
    pub competition_id: String,
    /// The score, rounded to five decimals. It may be NaN or infinite. `None` if the submission is invalid.
    pub score: Option<f64>,
    /// The scores that earn medals. `None` without a leaderboard.
    pub thresholds: Option<Thresholds>,
    /// The medal of the score.
    pub medals: Medals,
    /// Whether the file exists and its name ends in `.csv`.
    pub submission_exists: bool,
    /// Whether lower scores are better. [`new`](Self::new) sets it according to the leaderboard, and sets `None` without a
    /// leaderboard.
    pub is_lower_better: Option<bool>,
    /// Time of grading, local time.
    pub created_at: DateTime,
    /// Path of the submission, as the caller passed it.
    pub submission_path: String,
    /// Directory of a run without a submission, which has no path that identifies the run. `None` if it is unknown.
    pub run: Option<String>,
    /// The data with which the submission was graded.
    pub variant: GradedData,
    /// The reason why there is no score.
    pub reason: Option<Refusal>,
    /// Whether the submission is identical to the answers. [`new`](Self::new) sets `false`.
    pub is_answers: bool,
    /// Whether a query of the competition's author computes the score. [`new`](Self::new) sets `false`.
    pub has_own_metric: bool,
    /// Digests of everything that the score depends on.
    pub digests: Digests,
    /// Place of the grading in the log, if the grading was logged.
    pub log: Option<LogPlace>,
}

/// The place of a grading in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPlace {
    /// Id of the log: the first digits of the chain hash after the log's first line.
    pub id: String,
    /// Line of the log, from 1.
    pub position: u64,
    /// The chain hash after this line: `blake3:` and 64 hex digits. It depends on this line and all earlier lines.
    pub head: String,
    /// Number of earlier gradings of this competition in the log.
    pub earlier: u64,
}

impl LogPlace {
    fn to_json(&self) -> JsonObject {
        let number = |number: u64| i64::try_from(number).ok().into();
        JsonObject::from_iter([
            ("id", self.id.as_str().into()),
            ("position", number(self.position)),
            ("head", self.head.as_str().into()),
            ("earlier", number(self.earlier)),
        ])
    }

    /// Reads the member `log` of a report.
    pub fn from_json(value: &JsonValue) -> Option<LogPlace> {
        let text = |key| value.get(key)?.as_str().map(str::to_owned);
        let number = |key| match value.get(key)? {
            JsonValue::Int(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        Some(LogPlace {
            id: text("id")?,
            position: number("position")?,
            head: text("head")?,
            earlier: number("earlier")?,
        })
    }
}

/// The data with which a submission was graded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GradedData {
    /// `v1` or `fixed`, or another name if the data are not those of a variant.
    pub name: String,
    /// Reasons why the score cannot be compared with the benchmark's scores.
    pub not_comparable_because: Vec<String>,
}

/// Digests of everything that a score depends on, as `sha256:...`. `None` if unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digests {
    /// Digest of the public data, answers, leaderboard and rules.
    pub all: Option<String>,
    /// Digest of the public data.
    pub public: Option<String>,
    /// Digest of the description, which agents read.
    pub description: Option<String>,
    /// Digest of the answers.
    pub answers: Option<String>,
    /// Digest of the leaderboard.
    pub leaderboard: Option<String>,
    /// Digest of the grading rules.
    pub rules: Option<String>,
    /// Digest of the pipeline's file.
    pub pipeline: Option<String>,
    /// Digest of the submission.
    pub submission: Option<String>,
}

impl Digests {
    fn to_json(&self) -> JsonObject {
        let text = |digest: &Option<String>| digest.as_deref().into();
        JsonObject::from_iter([
            ("all", text(&self.all)),
            ("public", text(&self.public)),
            ("description", text(&self.description)),
            ("answers", text(&self.answers)),
            ("leaderboard", text(&self.leaderboard)),
            ("rules", text(&self.rules)),
            ("pipeline", text(&self.pipeline)),
            ("submission", text(&self.submission)),
        ])
    }
}

/// A graded submission, from which a report is created.
#[derive(Debug, Clone)]
pub struct GradedSubmission<'a> {
    /// Id of the competition.
    pub competition_id: &'a str,
    /// Path of the submission, as the caller passed it.
    pub path: &'a str,
    /// The result of grading. If the file is missing, it must be `Invalid` with the kind
    /// [`RefusalKind::NoSubmission`].
    pub outcome: GradeOutcome,
    /// Leaderboard of the competition, if it has one.
    pub leaderboard: Option<&'a Leaderboard>,
    /// The data with which the submission was graded.
    pub data: &'a GradedData,
    /// Time of grading, local time.
    pub graded_at: DateTime,
}

impl CompetitionReport {
    /// Creates the report about a graded submission, without digests.
    pub fn new(graded: GradedSubmission<'_>) -> Self {
        let leaderboard = graded.leaderboard;
        let (score, reason) = match graded.outcome {
            GradeOutcome::Score { rounded, .. } => (Some(rounded), None),
            GradeOutcome::Invalid(refusal) => (None, Some(refusal)),
        };
        let is_missing = |refusal: &Refusal| refusal.kind == RefusalKind::NoSubmission;
        CompetitionReport {
            competition_id: graded.competition_id.to_owned(),
            score,
            thresholds: leaderboard.map(Leaderboard::thresholds),
            medals: score
                .zip(leaderboard)
                .map(|(score, leaderboard)| leaderboard.medals(score))
                .unwrap_or_default(),
            submission_exists: !reason.as_ref().is_some_and(is_missing),
            is_lower_better: leaderboard.map(Leaderboard::is_lower_better),
            created_at: graded.graded_at,
            submission_path: graded.path.to_owned(),
            run: None,
            variant: graded.data.clone(),
            reason,
            is_answers: false,
            has_own_metric: false,
            digests: Digests::default(),
            log: None,
        }
    }

    /// Returns whether the submission is valid.
    pub fn valid_submission(&self) -> bool {
        self.score.is_some()
    }

    /// Returns the reasons why the score cannot be compared with the benchmark's scores.
    pub fn not_comparable_because(&self) -> Vec<&str> {
        let of_data = self.variant.not_comparable_because.iter();
        let copied = "the submission is identical to the answers";
        let of_submission = self.is_answers.then_some(copied);
        of_data.map(String::as_str).chain(of_submission).collect()
    }

    /// Returns the report as JSON.
    pub fn to_json(&self) -> JsonObject {
        let threshold = |of: fn(Thresholds) -> f64| self.thresholds.map(of).into();
        let reason = self.reason.as_ref().map(refusal_json);
        let obstacles = self.not_comparable_because().into_iter();
        let obstacles: Vec<JsonValue> = obstacles.map(JsonValue::from).collect();
        let mut report = JsonObject::from_iter([
            ("competition_id", self.competition_id.as_str().into()),
            ("score", self.score.into()),
            ("gold_threshold", threshold(|all| all.gold)),
            ("silver_threshold", threshold(|all| all.silver)),
            ("bronze_threshold", threshold(|all| all.bronze)),
            ("median_threshold", threshold(|all| all.median)),
            ("any_medal", self.medals.any().into()),
            ("gold_medal", self.medals.gold.into()),
            ("silver_medal", self.medals.silver.into()),
            ("bronze_medal", self.medals.bronze.into()),
            ("above_median", self.medals.above_median.into()),
            ("submission_exists", self.submission_exists.into()),
            ("valid_submission", self.valid_submission().into()),
            ("is_lower_better", self.is_lower_better.into()),
            ("created_at", iso_format(self.created_at).into()),
            ("submission_path", self.submission_path.as_str().into()),
            ("variant", self.variant.name.as_str().into()),
            ("reason", reason.into()),
            ("comparable_with_v1", obstacles.is_empty().into()),
            ("not_comparable_because", obstacles.into()),
            ("submission_is_answers", self.is_answers.into()),
            ("own_metric", self.has_own_metric.into()),
            ("digests", self.digests.to_json().into()),
            ("program", env!("CARGO_PKG_VERSION").into()),
            ("log", self.log.as_ref().map(LogPlace::to_json).into()),
        ]);
        if let Some(run) = &self.run {
            report.insert("run".into(), run.as_str().into());
        }
        report
    }
}

fn refusal_json(refusal: &Refusal) -> JsonObject {
    let row = refusal.row.and_then(|row| i64::try_from(row).ok());
    JsonObject::from_iter([
        ("kind", refusal.kind.name().into()),
        ("message", refusal.to_string().into()),
        ("column", refusal.column.as_deref().into()),
        ("row", row.into()),
    ])
}

/// Returns the report about several submissions: counts, and the report about each submission.
pub fn aggregate(reports: &[CompetitionReport]) -> JsonObject {
    let count = |counts: fn(&CompetitionReport) -> bool| {
        let count = reports.iter().filter(|report| counts(report)).count();
        i64::try_from(count).ok().into()
    };
    let each = reports.iter().map(|report| report.to_json().into());
    JsonObject::from_iter([
        ("total_runs", count(|_| true)),
        (
            "total_runs_with_submissions",
            count(|report| report.submission_exists),
        ),
        (
            "total_valid_submissions",
            count(CompetitionReport::valid_submission),
        ),
        ("total_medals", count(|report| report.medals.any())),
        ("total_gold_medals", count(|report| report.medals.gold)),
        ("total_silver_medals", count(|report| report.medals.silver)),
        ("total_bronze_medals", count(|report| report.medals.bronze)),
        (
            "total_above_median",
            count(|report| report.medals.above_median),
        ),
        (
            "competition_reports",
            each.collect::<Vec<JsonValue>>().into(),
        ),
    ])
}

/// Formats a report like Python's `json.dump` with an indentation of four. `serde_json` would write a score of NaN as
/// `null`, but readers of the benchmark's reports expect `NaN`.
pub fn pretty(report: JsonObject) -> String {
    text(&report.into(), Some(4))
}

/// Formats a string as JSON, and escapes all characters beyond ASCII.
pub fn quoted(words: &str) -> String {
    text(&words.into(), None)
}

fn text(value: &JsonValue, indent: Option<usize>) -> String {
    let options = WriteOptions {
        indent,
        ..WriteOptions::default()
    };
    // Writing cannot fail, because every string can be escaped to ASCII.
    let bytes = value.to_json(&options).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// Returns the name of a report file: `2026-11-21T12-56-43-GMT_grading_report.json`.
pub fn file_name(at: Timestamp) -> String {
    let time = at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H-%M-%S");
    format!("{time}-GMT_grading_report.json")
}

/// Formats a time like Python's `datetime.isoformat`, with microseconds only if they are not 0.
fn iso_format(time: DateTime) -> String {
    let seconds = time.strftime("%Y-%m-%dT%H:%M:%S");
    match time.subsec_nanosecond() / 1_000 {
        0 => seconds.to_string(),
        micros => format!("{seconds}.{micros:06}"),
    }
}

/// An entry of a list of submissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSubmission {
    /// Line of the list, from 1.
    pub line: usize,
    /// Id of the competition.
    pub competition_id: String,
    /// Path as written in the list, which may be relative.
    pub submission_path: String,
}

/// An error in a list of submissions. Lines are counted from 1.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum ListError {
    #[error(
        "line {line} is not JSON: {reason}; expected {{\"competition_id\": ..., \"submission_path\": ...}}"
    )]
    Json { line: usize, reason: String },
    #[error(
        "line {line} is not a JSON object; expected {{\"competition_id\": ..., \"submission_path\": ...}}"
    )]
    NoObject { line: usize },
    #[error("line {line} has no `{key}`")]
    Missing { line: usize, key: &'static str },
    #[error("line {line}: `{key}` is not a string")]
    NotText { line: usize, key: &'static str },
}

/// Parses a list of submissions. Returns the error of the first invalid line.
pub fn parse_list(text: &str) -> Result<Vec<ListedSubmission>, ListError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let skipped = |line: &str| line.is_empty() || line.starts_with('#') || line.starts_with("//");
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !skipped(line))
        .map(|(line, json)| entry(line, json))
        .collect()
}

/// Removes the line number from a message of the parser. This number is always 1, because each line is parsed separately.
fn without_line(error: &serde_json::Error) -> String {
    error
        .to_string()
        .replace(" at line 1 column ", " at column ")
}

fn entry(line: usize, json: &str) -> Result<ListedSubmission, ListError> {
    let value: Value = serde_json::from_str(json).map_err(|error| ListError::Json {
        line,
        reason: without_line(&error),
    })?;
    let Value::Object(map) = value else {
        return Err(ListError::NoObject { line });
    };
    let text = |key: &'static str| match map.get(key) {
        None | Some(Value::Null) => Err(ListError::Missing { line, key }),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(ListError::NotText { line, key }),
    };
    Ok(ListedSubmission {
        line,
        competition_id: text("competition_id")?,
        submission_path: match map.get("submission_path") {
            // `null` means a run without a submission. The benchmark treats it as a file named `None`.
            Some(Value::Null) => "None".to_owned(),
            _ => text("submission_path")?,
        },
    })
}
