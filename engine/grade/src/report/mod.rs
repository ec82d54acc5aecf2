//! Reports: what the benchmark writes about each submission, and about a run of several.
//!
//! Keys and their order are the benchmark's; our own (`variant`, `reason`, `comparable_with_v1`, `not_comparable_because`,
//! `digests`) come after them.
//! Time is passed in.

pub mod json;
pub mod list;
pub mod medals;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::grader::Outcome;
use crate::json::Json;
use crate::medals::{Leaderboard, Medals, Thresholds};
use crate::refusal::Refusal;

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
    fn to_json(&self) -> Json {
        let text = |digest: &Option<String>| digest.clone().map_or(Json::Null, Json::Text);
        Json::Map(vec![
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
    pub fn to_json(&self) -> Json {
        let threshold = |of: fn(Thresholds) -> f64| {
            let threshold = self.thresholds.map(of);
            threshold.map_or(Json::Null, Json::Number)
        };
        let reason = match (&self.reason, self.submission_exists) {
            (Some(refusal), _) => refusal_json(refusal),
            (None, true) => Json::Null,
            (None, false) => Json::Map(vec![
                ("kind", Json::Text("no_submission".to_owned())),
                (
                    "message",
                    Json::Text(
                        "there is no such file, or its name does not end in .csv".to_owned(),
                    ),
                ),
            ]),
        };
        let obstacles = &self.variant.not_comparable_because;
        Json::Map(vec![
            ("competition_id", Json::Text(self.competition_id.clone())),
            ("score", self.score.map_or(Json::Null, Json::Number)),
            ("gold_threshold", threshold(|all| all.gold)),
            ("silver_threshold", threshold(|all| all.silver)),
            ("bronze_threshold", threshold(|all| all.bronze)),
            ("median_threshold", threshold(|all| all.median)),
            ("any_medal", Json::Bool(self.medals.any())),
            ("gold_medal", Json::Bool(self.medals.gold)),
            ("silver_medal", Json::Bool(self.medals.silver)),
            ("bronze_medal", Json::Bool(self.medals.bronze)),
            ("above_median", Json::Bool(self.medals.above_median)),
            ("submission_exists", Json::Bool(self.submission_exists)),
            ("valid_submission", Json::Bool(self.valid_submission())),
            (
                "is_lower_better",
                self.is_lower_better.map_or(Json::Null, Json::Bool),
            ),
            ("created_at", Json::Text(iso_format(self.created_at))),
            ("submission_path", Json::Text(self.submission_path.clone())),
            ("variant", Json::Text(self.variant.name.clone())),
            ("reason", reason),
            ("comparable_with_v1", Json::Bool(obstacles.is_empty())),
            (
                "not_comparable_because",
                Json::List(obstacles.iter().cloned().map(Json::Text).collect()),
            ),
            ("digests", self.digests.to_json()),
        ])
    }
}

fn refusal_json(refusal: &Refusal) -> Json {
    let row = refusal.row.and_then(|row| usize::try_from(row).ok());
    Json::Map(vec![
        ("kind", Json::Text(refusal.kind.name().to_owned())),
        ("message", Json::Text(refusal.to_string())),
        (
            "column",
            refusal.column.clone().map_or(Json::Null, Json::Text),
        ),
        ("row", row.map_or(Json::Null, Json::Count)),
    ])
}

/// The report of a run: counts, then the reports one by one.
pub fn aggregate(reports: &[CompetitionReport]) -> Json {
    let count = |counts: fn(&CompetitionReport) -> bool| {
        Json::Count(reports.iter().filter(|r| counts(r)).count())
    };
    Json::Map(vec![
        ("total_runs", Json::Count(reports.len())),
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
            Json::List(reports.iter().map(CompetitionReport::to_json).collect()),
        ),
    ])
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
