//! Grades submissions of one competition.

mod answers;
pub(crate) mod claim;
pub(crate) mod comparable;
pub(crate) mod list;
pub(crate) mod metric_query;
mod pitfalls;
mod rules;
mod submission;
pub(crate) mod trial;

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use jiff::{Timestamp, Zoned};
use prep_digests::Sha256;
use prep_formats::pandas::Frame;
use prep_grade::metrics::Direction;
use prep_grade::report::medals::Leaderboard;
use prep_grade::report::{CompetitionReport, Digests, GradedData, GradedSubmission, LogPlace};
use prep_grade::{GradeOutcome, Grader, Refusal, RefusalKind};
use prep_spec::BASE_VARIANT;
use prep_steps::{MANIFEST_FILE, Manifest};
use prep_trust::LogWriter;
use serde_json::{Map, Value, json};

use self::answers::{AnswersFile, PreparedDirectory, ReadFiles};
use self::comparable::Answers;
use self::rules::{check_section, find_leaderboard};
use self::submission::ReadSubmission;
use self::trial::Places;
use crate::catalog::Catalog;
use crate::digests;
use crate::error::Error;
use crate::sealed;
use crate::settings::Settings;

pub use self::comparable::Comparability;
pub(crate) use self::rules::{direction, grader, parse_leaderboard, read};
pub use self::rules::{leaderboard, read_leaderboard};
pub use self::submission::{Submission, SubmissionDirectory, SubmissionError};

/// The path of the submission of a run without a submission, in lists and reports, as in upstream's.
pub const NO_SUBMISSION: &str = "None";

/// The grader of one competition, with its answers. It can grade many submissions, on several threads.
pub struct Grading {
    id: String,
    /// `None` if the competition has no leaderboard.
    leaderboard: Option<Leaderboard>,
    /// The name of the prepared variant, and the reasons why scores are not comparable.
    variant: GradedData,
    grader: Grader,
    answers: Frame,
    answers_digest: Sha256,
    digests: Digests,
    /// `None` if gradings are not logged.
    log: Option<(LogWriter, Arc<LogErrorHandler>)>,
    /// The prepared files, with their metadata when they were read.
    read: ReadFiles,
    warnings: Vec<String>,
    /// The section `grade` of a user's competition. `None` for a built-in competition, and for answers that the caller named.
    places: Option<Places>,
}

/// Whether gradings are logged in the data directory.
#[derive(Clone, Default)]
pub struct GradingLog(Option<Arc<LogErrorHandler>>);

type LogErrorHandler = dyn Fn(Error) -> Result<(), Error> + Send + Sync;

impl GradingLog {
    /// Logs gradings. Calls `on_error` if a line of the log cannot be written.
    ///
    /// If `on_error` returns an error, the grading ends with this error and without a report. If `on_error` returns `Ok`,
    /// the report contains no reference to a log.
    pub fn new(
        on_error: impl Fn(Error) -> Result<(), Error> + Send + Sync + 'static,
    ) -> GradingLog {
        GradingLog(Some(Arc::new(on_error)))
    }

    /// Logs nothing.
    pub fn disabled() -> GradingLog {
        GradingLog(None)
    }
}

impl Grading {
    /// Reads the prepared data of a competition, and verifies its answers.
    ///
    /// # Errors
    /// Returns an error if the answers are missing or not verified. Also returns an error if the pipeline's section `grade`
    /// or the leaderboard is invalid.
    pub fn open(catalog: &Catalog, settings: &Settings, id: &str) -> Result<Grading, Error> {
        let entry = catalog.get(id)?;
        entry.pipeline()?;
        let mut files = ReadFiles::default();
        files.record(&settings.data_dir.join(id).join(MANIFEST_FILE));
        let mut prepared = PreparedDirectory::open(settings, entry)?;
        check_section(entry)?;
        let found = prepared.answers(&mut files)?;
        let AnswersFile { place, bytes, .. } = &found.file;
        Ok(Grading {
            id: id.to_owned(),
            leaderboard: parse_leaderboard(entry, Some(found.grader.direction()))?,
            variant: prepared.comparability(&found)?.variant(&found.variant),
            answers: read(&found.grader, bytes, place)?,
            answers_digest: Sha256::of_bytes(bytes),
            digests: prepared.digests(&found),
            log: None,
            read: files,
            warnings: prepared.warnings(),
            places: Places::of(&found.pipeline).filter(|_| !entry.is_built_in()),
            grader: found.grader,
        })
    }

    /// Logs every grading in the data directory of `settings`, if `log` is enabled.
    #[must_use]
    pub fn logged(self, settings: &Settings, log: &GradingLog) -> Grading {
        let GradingLog(Some(on_error)) = log else {
            return self;
        };
        let writer = LogWriter::new(settings.data_dir.join(LOG_FILE), &self.id);
        let mut warnings = self.warnings;
        if writer.ends_partially() {
            warnings.push(format!(
                "the last line of {} is partially written, so it may lack a grading; the line stays, and new gradings follow it",
                writer.path().display()
            ));
        }
        Grading {
            log: Some((writer, Arc::clone(on_error))),
            warnings,
            ..self
        }
    }

    /// Creates a grader that uses the answers and the leaderboard in `given`. Does not verify the answers.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read, or if the pipeline has no section `grade`.
    pub fn with_answers(
        catalog: &Catalog,
        id: &str,
        given: &GradeOverrides,
    ) -> Result<Grading, Error> {
        let entry = catalog.get(id)?;
        check_section(entry)?;
        let (grader, path) = grader(entry, &entry.load(BASE_VARIANT)?)?;
        let mut files = ReadFiles::default();
        files.record(&given.answers);
        let bytes = std::fs::read(&given.answers)
            .map_err(|error| Error::reading("read the answers", &given.answers, &error))?;
        let mut comparability = Comparability::of_grading(entry, &path, &Answers::Foreign(&bytes))?;
        if given.leaderboard.is_some() {
            comparability.add_given_leaderboard();
        }
        Ok(Grading {
            id: id.to_owned(),
            leaderboard: match &given.leaderboard {
                Some(path) => Some(read_leaderboard(path)?),
                None => find_leaderboard(entry)?,
            },
            variant: comparability.variant(BASE_VARIANT),
            answers: read(&grader, &bytes, &given.answers)?,
            grader,
            answers_digest: Sha256::of_bytes(&bytes),
            digests: Digests {
                answers: Some(digests::text(Sha256::of_bytes(&bytes))),
                pipeline: digests::pipeline(entry).map(digests::text),
                ..Digests::default()
            },
            log: None,
            read: files,
            warnings: Vec::new(),
            places: None,
        })
    }

    /// Same as [`open`](Self::open), but accepts unverified answers if another program prepared the data.
    ///
    /// # Errors
    /// Same as [`open`](Self::open), except for unverified answers.
    pub fn of_any_origin(
        catalog: &Catalog,
        settings: &Settings,
        id: &str,
    ) -> Result<Grading, Error> {
        if crate::prepared::manifest(&settings.data_dir, id)?.is_some() {
            return Grading::open(catalog, settings, id);
        }
        let entry = catalog.get(id)?;
        let (_, answers) = grader(entry, &entry.load(BASE_VARIANT)?)?;
        if sealed::is_sealed(&settings.data_dir, id) {
            return Grading::open(catalog, settings, id);
        }
        let directory = settings.prepared_dir(id);
        let answers = directory.join(answers);
        if !answers.is_file() {
            return Err(crate::prepared::not_prepared(id));
        }
        let given = GradeOverrides {
            answers,
            leaderboard: None,
        };
        let mut grading = Grading::with_answers(catalog, id, &given)?;
        // If a run prepares the competition later, the manifest appears, and `is_current` returns false.
        grading
            .read
            .record(&settings.data_dir.join(id).join(MANIFEST_FILE));
        Ok(grading)
    }

    /// Returns warnings about the prepared data, for example about changed files that grading does not read.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns whether the files that were read are still unchanged, according to size, times and inode.
    pub fn is_current(&self) -> bool {
        self.read.are_unchanged()
    }

    /// Validates and scores a submission. An invalid submission is an outcome, not an error.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, if the file of a data frame from Python is damaged, or if no submission
    /// can be graded because of a mistake in the competition.
    pub fn grade(&self, submission: &Submission) -> Result<GradeOutcome, SubmissionError> {
        self.grade_read(submission, submission.read()?)
    }

    fn grade_read(
        &self,
        submission: &Submission,
        read: ReadSubmission<'_>,
    ) -> Result<GradeOutcome, SubmissionError> {
        let outcome = match read {
            ReadSubmission::Frame(frame) => self.grader.grade(&self.answers, &frame),
            ReadSubmission::Csv(scanned) => {
                let outcome = self.grader.grade_scanned(&self.answers, scanned);
                outcome.map_err(|error| submission.read_error(error))?
            }
        };
        submission.require_unchanged()?;
        if let (GradeOutcome::Invalid(refusal), Some(places)) = (&outcome, &self.places)
            && let Some(error) = places.locate(&self.grader, &self.answers, refusal)
        {
            return Err(SubmissionError::Competition(Box::new(error)));
        }
        Ok(outcome)
    }

    /// Opens the prepared data with `open`, and grades a submission.
    ///
    /// While `open` runs, a second thread reads a long submission. A third thread computes the submission's digest for the
    /// report.
    ///
    /// # Errors
    /// Returns the error of `open`.
    pub fn open_and_grade<E>(
        submission: &Submission,
        open: impl FnOnce() -> Result<Grading, E>,
    ) -> Result<(Grading, Result<GradeOutcome, SubmissionError>), E> {
        if !submission.is_long() {
            let grading = open()?;
            let outcome = grading.grade(submission);
            return Ok((grading, outcome));
        }
        thread::scope(|scope| {
            let start = || thread::Builder::new();
            let reading = start().spawn_scoped(scope, || submission.read());
            // If this thread cannot be started, the report computes the digest.
            let _ = start().spawn_scoped(scope, || submission.digest());
            let grading = open()?;
            let read = match reading {
                Ok(reading) => reading.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(_) => submission.read(),
            };
            let outcome = read.and_then(|read| grading.grade_read(submission, read));
            Ok((grading, outcome))
        })
    }

    /// Returns a reward from 0 to 1 for training: the fraction of leaderboard scores that are worse than the submission's.
    ///
    /// Invalid submissions and copies of the answers get 0. Without a leaderboard, all other submissions get 1.
    pub fn reward(&self, report: &CompetitionReport) -> f64 {
        match (report.score, &self.leaderboard) {
            (None, _) => 0.0,
            _ if report.is_answers => 0.0,
            (Some(score), Some(leaderboard)) => leaderboard.fraction_worse(score),
            (Some(_), None) => 1.0,
        }
    }

    /// Opens and grades a submission, and returns a report with the current time.
    ///
    /// # Errors
    /// Returns an error if the file exists but cannot be read.
    pub fn report_of_path(&self, path: &Path) -> Result<CompetitionReport, Error> {
        match Submission::open(path) {
            Ok(submission) => {
                let outcome = self.grade(&submission);
                self.report(&submission, outcome)
            }
            Err(error) => self.report_without_submission(&path.to_string_lossy(), &error),
        }
    }

    /// Returns the report of a graded submission, with the current time and the digest of the graded bytes.
    ///
    /// # Errors
    /// Returns an error if the file could not be read, or if the file of a data frame from Python is damaged.
    pub fn report(
        &self,
        submission: &Submission,
        outcome: Result<GradeOutcome, SubmissionError>,
    ) -> Result<CompetitionReport, Error> {
        let graded = outcome.and_then(|outcome| {
            let digest = submission.digest()?;
            let is_answers = digest == Some(self.answers_digest)
                || self.has_cells_of_answers(submission, &outcome)?;
            Ok((outcome, digest, is_answers))
        });
        match graded {
            Ok((outcome, digest, is_answers)) => {
                self.report_of(submission.name(), outcome, digest, is_answers)
            }
            Err(error) => self.report_without_submission(submission.name(), &error),
        }
    }

    /// Returns the report of a file that could not be opened.
    ///
    /// # Errors
    /// Returns an error if the file exists but could not be read.
    pub fn report_without_submission(
        &self,
        name: &str,
        error: &SubmissionError,
    ) -> Result<CompetitionReport, Error> {
        let outcome = match error {
            SubmissionError::Missing if name == NO_SUBMISSION => {
                let refusal = Refusal::new(RefusalKind::NoSubmission, "no submission");
                GradeOutcome::Invalid(refusal)
            }
            _ => error.outcome(name)?,
        };
        self.report_of(name, outcome, None, false)
    }

    /// Returns whether a submission has the same cells as the answers. Their bytes may differ, because Python callers
    /// write tables in their own way. The answers have the best possible score. Therefore the submission's file is read
    /// again only if its score may be the best possible one.
    fn has_cells_of_answers(
        &self,
        submission: &Submission,
        outcome: &GradeOutcome,
    ) -> Result<bool, SubmissionError> {
        let is_best = match (outcome, self.grader.best_score()) {
            (GradeOutcome::Invalid(_), _) => false,
            (GradeOutcome::Score { value, .. }, Some(best)) => (value - best).abs() < 1e-5,
            (GradeOutcome::Score { .. }, None) => true,
        };
        if !is_best {
            return Ok(false);
        }
        let mut frame = submission.frame()?;
        if frame.is_none() && self.grader.best_score().is_some() {
            frame = prep_grade::table::submission::parse(&submission.bytes()?).ok();
        }
        Ok(frame.is_some_and(|frame| has_equal_cells(&frame, &self.answers)))
    }

    /// Returns a warning if a short CSV has a label that is probably misspelled, because no row of the answers has it. Such a
    /// submission is valid, but its score is low.
    pub fn misspelled_label(&self, path: &Path) -> Option<String> {
        self.grader.misspelled_label(&self.answers, || {
            let submission = Submission::open(path).ok().filter(|one| !one.is_long())?;
            prep_grade::table::submission::parse(&submission.bytes().ok()?).ok()
        })
    }

    fn report_of(
        &self,
        name: &str,
        outcome: GradeOutcome,
        digest: Option<Sha256>,
        is_answers: bool,
    ) -> Result<CompetitionReport, Error> {
        let report = CompetitionReport::new(GradedSubmission {
            competition_id: &self.id,
            path: name,
            outcome,
            leaderboard: self.leaderboard.as_ref(),
            data: &self.variant,
            graded_at: Zoned::now().datetime(),
        });
        let is_lower = self.grader.direction() == Direction::LowerIsBetter;
        let report = CompetitionReport {
            is_lower_better: report.is_lower_better.or(Some(is_lower)),
            is_answers,
            has_own_metric: !self.grader.queries().is_empty(),
            digests: Digests {
                submission: digest.map(digests::text),
                ..self.digests.clone()
            },
            ..report
        };
        let log = self.log(&report)?;
        Ok(CompetitionReport { log, ..report })
    }

    fn log(&self, report: &CompetitionReport) -> Result<Option<LogPlace>, Error> {
        let Some((writer, on_error)) = &self.log else {
            return Ok(None);
        };
        match writer.append(logged_fields(report, self.answers_digest)) {
            Ok(place) => Ok(Some(place)),
            Err(error) => {
                on_error(Error::writing("log the grading in", writer.path(), &error))?;
                Ok(None)
            }
        }
    }
}

/// Returns whether two tables have the same columns and rows, in the same order, with equal cells.
fn has_equal_cells(one: &Frame, other: &Frame) -> bool {
    let columns = || one.columns.iter().zip(&other.columns);
    one.columns.len() == other.columns.len()
        && columns().all(|(one, other)| one.name == other.name)
        && columns().all(|(one, other)| one.data.values().eq(other.data.values()))
}

/// Verifies the plain answers of a prepared competition, and returns the manifest of its last run.
///
/// Returns an error if another program prepared the answers, because such data have no manifest.
pub(crate) fn require_answers(
    catalog: &Catalog,
    settings: &Settings,
    id: &str,
) -> Result<Manifest, Error> {
    let mut prepared = PreparedDirectory::open(settings, catalog.get(id)?)?;
    prepared.answers(&mut ReadFiles::default())?;
    let manifest = crate::prepared::manifest(&settings.data_dir, id)?;
    manifest.ok_or_else(|| crate::prepared::not_prepared(id))
}

/// Returns the path of the answers in the pipeline, for example `private/test.csv`.
pub(crate) fn answers_path(catalog: &Catalog, id: &str, variant: &str) -> Result<String, Error> {
    let entry = catalog.get(id)?;
    Ok(grader(entry, &entry.load(variant)?)?.1)
}

/// The files that [`Grading::with_answers`] uses instead of the prepared answers and the competition's leaderboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GradeOverrides {
    pub answers: PathBuf,
    pub leaderboard: Option<PathBuf>,
}

/// The name of the log in the data directory.
pub const LOG_FILE: &str = "grades.jsonl";

/// Returns the fields of a log line, without the hashes that chain the lines.
fn logged_fields(report: &CompetitionReport, answers: Sha256) -> Map<String, Value> {
    // JSON cannot represent NaN and infinity as numbers, so they are written as strings.
    let score = report.score.map(|score| match score.is_finite() {
        true => json!(score),
        false => json!(score.to_string()),
    });
    let fields = [
        ("time", json!(Timestamp::now().to_string())),
        ("competition", json!(report.competition_id)),
        ("variant", json!(report.variant.name)),
        ("submission", json!(report.digests.submission)),
        ("answers", json!(digests::text(answers))),
        ("submission_is_answers", json!(report.is_answers)),
        ("score", json!(score)),
        (
            "reason",
            json!(report.reason.as_ref().map(ToString::to_string)),
        ),
        ("program", json!(crate::VERSION)),
    ];
    let fields = fields.into_iter();
    fields.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Whether a submission is valid, with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validation {
    pub valid: bool,
    pub message: String,
    /// The reason why the submission is invalid, as in the report of a grading.
    pub reason: Option<Value>,
}

impl Validation {
    /// Describes the outcome of opening or grading the file `name`.
    ///
    /// Does not report whether the submission is a copy of the answers, because that would reveal the score.
    ///
    /// # Errors
    /// Returns an error if the file could not be read, or if the file of a data frame from Python is damaged.
    pub fn of(
        name: &str,
        outcome: &Result<GradeOutcome, SubmissionError>,
    ) -> Result<Validation, Error> {
        Ok(match outcome {
            Ok(outcome) => Validation::from_outcome(outcome),
            Err(error) => Validation::from_outcome(&error.outcome(name)?),
        })
    }

    fn from_outcome(outcome: &GradeOutcome) -> Validation {
        match outcome {
            GradeOutcome::Score { .. } => Validation {
                valid: true,
                message: "Submission is valid.".to_owned(),
                reason: None,
            },
            GradeOutcome::Invalid(refusal) => Validation {
                valid: false,
                message: match refusal.kind {
                    RefusalKind::NoSubmission => format!("Submission invalid! {refusal}."),
                    _ => format!(
                        "Submission invalid! The attempt to grade the submission has resulted in the following error message:\n{}",
                        one_line(&refusal.to_string())
                    ),
                },
                reason: Some(json!({
                    "kind": refusal.kind.name(),
                    "message": refusal.to_string(),
                    "column": refusal.column,
                    "row": refusal.row,
                })),
            },
        }
    }
}

/// Puts a message on one line and replaces braces, because harnesses parse logs by line and find reports by braces.
fn one_line(message: &str) -> String {
    message
        .chars()
        .map(|c| match c {
            '{' => '(',
            '}' => ')',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod validation_tests {
    use super::*;

    #[test]
    fn messages_equal_upstreams_messages() {
        let message = |name: &str, error| Validation::of(name, &Err(error)).unwrap().message;
        assert_eq!(
            message("None", SubmissionError::Missing),
            "Submission invalid! Submission file None does not exist."
        );
        // In this case, upstream reports that the file does not exist.
        assert_eq!(
            message("a", SubmissionError::NotAFile),
            "Submission invalid! Submission file a is a directory or a device, not a file."
        );
        assert_eq!(
            message("a.txt", SubmissionError::NotCsv),
            "Submission invalid! Submission file must be a CSV file."
        );
        assert_eq!(
            message("a.csv", SubmissionError::Changed),
            "Submission invalid! The attempt to grade the submission has resulted in the following error message:\n\
             the file changed while it was read"
        );
        let score = GradeOutcome::Score {
            value: 0.123_456_7,
            rounded: 0.12346,
        };
        assert_eq!(
            Validation::of("a.csv", &Ok(score)).unwrap().message,
            "Submission is valid."
        );
        let refusal = Refusal::new(RefusalKind::Ids, "cell {a\nb} is unknown");
        let refused = Validation::of("a.csv", &Ok(GradeOutcome::Invalid(refusal))).unwrap();
        assert!(
            refused
                .message
                .ends_with("error message:\ncell (a b) is unknown"),
            "{}",
            refused.message
        );
        let reason = json!({ "kind": "ids", "message": "cell {a\nb} is unknown", "column": null, "row": null });
        assert_eq!(refused.reason, Some(reason));
    }
}
