//! Reports: what the benchmark writes about each submission, and about a run of several.
//!
//! Keys and their order are the benchmark's; our own (`variant`, `reason`, `comparable_with_v1`, `not_comparable_because`,
//! `digests`) come after them.
//! Time is passed in.

pub mod list;
pub mod medals;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
pub use prep_formats::json::JsonObject;
use prep_formats::json::{JsonValue, WriteOptions};

use crate::grader::Outcome;
use crate::refusal::Refusal;
use crate::report::medals::{Leaderboard, Medals, Thresholds};

/// What is reported about one submission.
#[derive(Debug, Clone, PartialEq)]
pub struct CompetitionReport {
    pub competition_id: String,
    /// At five decimals; NaN and infinities are scores, too.
    pub score: Option<f64>,
    /// None without a leaderboard; then there are no medals, either.
    pub thresholds: Option<Thresholds>,
    pub medals: Medals,
    pub submission_exists: bool,
    /// What the leaderboard tells.
    pub is_lower_better: Option<bool>,
    /// Local time.
    pub created_at: DateTime,
    /// As it was given.
    pub submission_path: String,
    pub variant: Variant,
    /// Why there is no score.
    pub reason: Option<Refusal>,
    /// What the score rests on.
    pub digests: Digests,
}

/// Which data a submission was graded on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// `v1`, `fixed`; `own` and others of data that are not what the variant promises.
    pub name: String,
    /// Why a score does not mean what the same score of the benchmark means; empty if it does.
    pub not_comparable_because: Vec<String>,
}

/// Digests of what a score rests on, as texts (`sha256:...`); none of what is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digests {
    /// Of all that follows but the submission.
    pub all: Option<String>,
    pub public: Option<String>,
    pub answers: Option<String>,
    pub leaderboard: Option<String>,
    pub rules: Option<String>,
    pub submission: Option<String>,
}

impl Digests {
    fn to_json(&self) -> JsonObject {
        let text = |digest: &Option<String>| digest.as_deref().into();
        JsonObject::from_iter([
            ("all", text(&self.all)),
            ("public", text(&self.public)),
            ("answers", text(&self.answers)),
            ("leaderboard", text(&self.leaderboard)),
            ("rules", text(&self.rules)),
            ("submission", text(&self.submission)),
        ])
    }
}

impl CompetitionReport {
    /// Reports an outcome; `None` when there was no submission.
    pub fn new(
        competition_id: &str,
        submission_path: &str,
        outcome: Option<Outcome>,
        leaderboard: Option<&Leaderboard>,
        variant: &Variant,
        created_at: DateTime,
    ) -> Self {
        let submission_exists = outcome.is_some();
        let (score, reason) = match outcome {
            Some(Outcome::Score { rounded, .. }) => (Some(rounded), None),
            Some(Outcome::Refused(refusal)) => (None, Some(refusal)),
            None => (None, None),
        };
        CompetitionReport {
            competition_id: competition_id.to_owned(),
            score,
            thresholds: leaderboard.map(Leaderboard::thresholds),
            medals: score
                .zip(leaderboard)
                .map(|(score, leaderboard)| leaderboard.medals(score))
                .unwrap_or_default(),
            submission_exists,
            is_lower_better: leaderboard.map(Leaderboard::is_lower_better),
            created_at,
            submission_path: submission_path.to_owned(),
            variant: variant.clone(),
            reason,
            digests: Digests::default(),
        }
    }

    /// Whether there is a score.
    pub fn valid_submission(&self) -> bool {
        self.score.is_some()
    }

    /// The report as JSON.
    pub fn to_json(&self) -> JsonObject {
        let threshold = |of: fn(Thresholds) -> f64| self.thresholds.map(of).into();
        let reason: Option<JsonObject> = match (&self.reason, self.submission_exists) {
            (Some(refusal), _) => Some(refusal_json(refusal)),
            (None, true) => None,
            (None, false) => {
                let message = "there is no such file, or its name does not end in .csv";
                let pairs = [
                    ("kind", "no_submission".into()),
                    ("message", message.into()),
                ];
                Some(pairs.into_iter().collect())
            }
        };
        let obstacles = &self.variant.not_comparable_because;
        let obstacles: Vec<JsonValue> = obstacles.iter().cloned().map(JsonValue::from).collect();
        JsonObject::from_iter([
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
            ("digests", self.digests.to_json().into()),
        ])
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

/// The report of a run: counts, then the reports one by one.
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

/// Several lines with an indent of four, as `json.dump` writes them, without a final line end. A score may be NaN, and readers
/// of the benchmark's reports expect to find it so; `serde_json` would write `null`.
pub fn pretty(report: JsonObject) -> String {
    text(&report.into(), Some(4))
}

/// A text as JSON, everything beyond ASCII escaped.
pub fn quoted(words: &str) -> String {
    text(&words.into(), None)
}

fn text(value: &JsonValue, indent: Option<usize>) -> String {
    let options = WriteOptions {
        indent,
        ..WriteOptions::default()
    };
    // ASCII holds every text, and memory takes what is written.
    let bytes = value.to_json(&options).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// Name of a run's report file: `2026-11-21T12-56-43-GMT_grading_report.json`; of the second one of the same second
/// `2026-11-21T12-56-43-GMT-2_grading_report.json`.
pub fn file_name(at: Timestamp, number: u32) -> String {
    let time = at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H-%M-%S");
    match number {
        0 | 1 => format!("{time}-GMT_grading_report.json"),
        number => format!("{time}-GMT-{number}_grading_report.json"),
    }
}

/// Python's `datetime.isoformat`: microseconds only when there are some.
fn iso_format(time: DateTime) -> String {
    let seconds = time.strftime("%Y-%m-%dT%H:%M:%S");
    match time.subsec_nanosecond() / 1_000 {
        0 => seconds.to_string(),
        micros => format!("{seconds}.{micros:06}"),
    }
}
