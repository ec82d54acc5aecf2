//! Grades submissions of one competition with its grader, the prepared answers, and the leaderboard.
//!
//! ```text
//! answers      verified answers                             comparable   whether scores are comparable with upstream's
//! list         many submissions, one report                 validation   the result as text, without a score
//! log          DATA/grades.jsonl: a line per grading        submission   opens submissions
//! ```

mod answers;
pub(crate) mod comparable;
mod list;
mod log;
mod submission;
mod validation;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Zoned;
use prep_core::{Failure, chain};
use prep_digests::Sha256;
use prep_formats::pandas::Frame;
use prep_grade::metrics::Direction;
use prep_grade::report::medals::{Leaderboard, LeaderboardError};
use prep_grade::report::{CompetitionReport, Digests, GradedData, GradedSubmission};
use prep_grade::table::typed;
use prep_grade::{GradeOutcome, Grader};
use prep_spec::{BASE_VARIANT, Pipeline};
use prep_steps::MANIFEST_FILE;

use self::answers::{AnswersFile, PreparedDirectory, ReadFiles};
use self::comparable::Answers;
use self::submission::{SubmissionContent, SubmissionFormat};
use crate::catalog::{Catalog, CatalogEntry};
use crate::error::Error;
use crate::settings::Settings;

pub use self::comparable::Comparability;
pub use self::list::{GradedList, grade_list};
pub use self::submission::{Submission, SubmissionDirectory, SubmissionError};
pub use self::validation::Validation;
use crate::digests;

/// Grades submissions of one competition. One value grades many submissions, from several threads.
pub struct Grading {
    id: String,
    /// `None` if the competition has no leaderboard, and therefore no medals.
    leaderboard: Option<Leaderboard>,
    /// The name of the prepared variant, and the reasons why scores are not comparable.
    variant: GradedData,
    grader: Grader,
    answers: Frame,
    /// Digest of the file with the answers.
    answers_digest: Sha256,
    digests: Digests,
    /// The data directory and the options of the log. `None` if gradings are not logged.
    log: Option<(PathBuf, GradingLog)>,
    /// The prepared files, with their metadata when they were read.
    read: ReadFiles,
    warnings: Vec<String>,
}

/// Whether gradings are logged in the data directory, and a function that receives errors from writing the log.
#[derive(Clone, Default)]
pub struct GradingLog(Option<Arc<LogErrorHandler>>);

type LogErrorHandler = dyn Fn(&Error) + Send + Sync;

impl GradingLog {
    /// Logs gradings, and passes errors from writing the log to `on_error`. Such errors do not prevent grading, for
    /// example in a read-only data directory.
    pub fn new(on_error: impl Fn(&Error) + Send + Sync + 'static) -> GradingLog {
        GradingLog(Some(Arc::new(on_error)))
    }

    /// Logs nothing.
    pub fn disabled() -> GradingLog {
        GradingLog(None)
    }
}

impl Grading {
    /// Reads the prepared data of a competition.
    ///
    /// # Errors
    /// Returns an error if:
    /// - the competition is not prepared, or its answers are missing;
    /// - the answers were modified, the preparation was interrupted, or another program prepared them, and the answers
    ///   do not have their published checksum;
    /// - it has no section `grade`, or its leaderboard is invalid.
    pub fn open(catalog: &Catalog, settings: &Settings, id: &str) -> Result<Grading, Error> {
        let entry = catalog.get(id)?;
        entry.pipeline()?;
        let mut files = ReadFiles::default();
        files.record(&settings.data_dir.join(id).join(MANIFEST_FILE));
        let prepared = PreparedDirectory::open(settings, entry)?;
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
            grader: found.grader,
        })
    }

    /// Enables logging: every grading is logged in the data directory of `settings`.
    #[must_use]
    pub fn logged(self, settings: &Settings, log: &GradingLog) -> Grading {
        Grading {
            log: Some((settings.data_dir.clone(), log.clone())),
            ..self
        }
    }

    /// Grades submissions with the rules of a competition and the answers that the user passed. The answers are not
    /// verified.
    ///
    /// # Errors
    /// Returns an error if the answers or the leaderboard cannot be read, or if the pipeline has no section `grade`.
    pub fn with_answers(
        catalog: &Catalog,
        id: &str,
        given: &GradeOverrides,
    ) -> Result<Grading, Error> {
        let entry = catalog.get(id)?;
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
                ..Digests::default()
            },
            log: None,
            read: files,
            warnings: Vec::new(),
        })
    }

    /// Reads the prepared data of a competition like [`open`](Self::open). If another program prepared them, the answers are not
    /// verified.
    ///
    /// # Errors
    /// Same as [`open`](Self::open), but unverified answers are not an error.
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
        // `is_current` also detects that a run prepares the competition later.
        grading
            .read
            .record(&settings.data_dir.join(id).join(MANIFEST_FILE));
        Ok(grading)
    }

    /// Returns warnings about the prepared data, for example about files that changed since, but that grading does not
    /// read.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns whether the files that were read have not changed since, according to size, times and inode.
    pub fn is_current(&self) -> bool {
        self.read.are_unchanged()
    }

    /// Validates and scores a submission.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if it is a typed frame with mistakes. Neither means that the
    /// submission is invalid.
    pub fn grade(&self, submission: &Submission) -> Result<GradeOutcome, SubmissionError> {
        if submission.format() == SubmissionFormat::Frame {
            let frame = typed::parse(&submission.bytes()?)
                .map_err(|error| SubmissionError::Frame(chain(&error)))?;
            return Ok(self.grader.grade(&self.answers, &frame));
        }
        match submission.content() {
            SubmissionContent::Memory(bytes) => Ok(self.grader.grade_bytes(&self.answers, bytes)),
            SubmissionContent::File(file, _) | SubmissionContent::Private(file) => {
                let outcome = self.grader.grade_file(&self.answers, file);
                let outcome = outcome.map_err(|error| submission.read_error(error))?;
                submission.require_unchanged()?;
                Ok(outcome)
            }
        }
    }

    /// Opens and grades a submission, and returns a report with the current time.
    pub fn report_of_path(&self, path: &Path) -> CompetitionReport {
        match Submission::open(path) {
            Ok(submission) => {
                let outcome = self.grade(&submission);
                self.report(&submission, outcome)
            }
            Err(error) => self.report_without_submission(&path.to_string_lossy(), &error),
        }
    }

    /// Returns the report of a graded submission, with the current time and the digest of the bytes that were graded.
    pub fn report(
        &self,
        submission: &Submission,
        outcome: Result<GradeOutcome, SubmissionError>,
    ) -> CompetitionReport {
        let graded = outcome.and_then(|outcome| Ok((outcome, submission.digest()?)));
        match graded {
            Ok((outcome, digest)) => self.report_of(submission.name(), Some(outcome), digest),
            Err(error) => self.report_without_submission(submission.name(), &error),
        }
    }

    /// Returns the report of a file that could not be opened or read.
    pub fn report_without_submission(
        &self,
        name: &str,
        error: &SubmissionError,
    ) -> CompetitionReport {
        self.report_of(name, error.outcome(), None)
    }

    fn report_of(
        &self,
        name: &str,
        outcome: Option<GradeOutcome>,
        digest: Option<Sha256>,
    ) -> CompetitionReport {
        let report = CompetitionReport::new(GradedSubmission {
            competition_id: &self.id,
            path: name,
            outcome,
            leaderboard: self.leaderboard.as_ref(),
            data: &self.variant,
            graded_at: Zoned::now().datetime(),
        });
        let report = CompetitionReport {
            is_answers: digest == Some(self.answers_digest),
            digests: Digests {
                submission: digest.map(digests::text),
                ..self.digests.clone()
            },
            ..report
        };
        self.log(&report, digest);
        report
    }

    /// Logs a grading, if logging is enabled.
    fn log(&self, report: &CompetitionReport, submission: Option<Sha256>) {
        let Some((data_dir, GradingLog(Some(on_error)))) = &self.log else {
            return;
        };
        let appended = log::append(data_dir, report, submission, self.answers_digest);
        if let Err(error) = appended {
            let place = data_dir.join(log::FILE_NAME);
            on_error(&Error::writing("log the grading in", &place, &error));
        }
    }
}

/// Answers and a leaderboard that replace those of the data directory and the competition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GradeOverrides {
    pub answers: PathBuf,
    pub leaderboard: Option<PathBuf>,
}

/// Reads the leaderboard in a file.
///
/// # Errors
/// Returns an error if the file cannot be read or is not a leaderboard.
pub fn read_leaderboard(path: &Path) -> Result<Leaderboard, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::reading("read the leaderboard", path, &error))?;
    Leaderboard::parse(&text)
        .map_err(|error| Error::new(Failure::Input, format!("{}: {error}", path.display())))
}

/// Returns a competition's grader, and the path of its answers relative to `prepared`.
pub(crate) fn grader(entry: &CatalogEntry, pipeline: &Pipeline) -> Result<(Grader, String), Error> {
    let no_grading = || {
        let message = format!("the pipeline of `{}` has no section `grade`", entry.id);
        Error::new(Failure::Pipeline, message)
    };
    let grade = pipeline.grade.as_ref().ok_or_else(no_grading)?;
    let grader = Grader::parse(&grade.value.rules)
        .map_err(|error| Error::new(Failure::Pipeline, format!("{}: {error}", entry.file_name)))?;
    let answers = &grade.value.answers.value;
    if !grader.answers_are_json() && !answers.ends_with(".csv") {
        let message = format!(
            "`{}` cannot be graded: its answers are not a CSV file",
            entry.id
        );
        return Err(Error::new(Failure::Pipeline, message));
    }
    Ok((grader, answers.clone()))
}

pub(crate) fn read(grader: &Grader, bytes: &[u8], place: &Path) -> Result<Frame, Error> {
    let read = match is_frame(place) {
        true => typed::parse(bytes).map_err(|error| chain(&error)),
        false => grader.read_answers(bytes).map_err(|error| chain(&error)),
    };
    read.map_err(|error| {
        let message = format!("the answers {}: {error}", place.display());
        Error::new(Failure::Input, message)
    })
}

/// Returns whether a file is a typed frame, according to its name (`*.frame`).
fn is_frame(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "frame")
}

/// Returns the competition's leaderboard.
///
/// # Errors
/// Returns an error if the competition has no leaderboard or the leaderboard is invalid.
pub fn leaderboard(entry: &CatalogEntry) -> Result<Leaderboard, Error> {
    find_leaderboard(entry)?.ok_or_else(|| {
        let message = format!("competition `{}` has no leaderboard.csv", entry.id);
        Error::new(Failure::Pipeline, message)
            .help("put one next to the pipeline: a CSV with the column `score`, best first")
    })
}

/// Returns the competition's leaderboard, if it has one.
fn find_leaderboard(entry: &CatalogEntry) -> Result<Option<Leaderboard>, Error> {
    let pipeline = entry.load(BASE_VARIANT).ok();
    parse_leaderboard(entry, pipeline.as_ref().and_then(direction))
}

/// Returns whether higher or lower scores of a pipeline's metric are better.
pub(crate) fn direction(pipeline: &Pipeline) -> Option<Direction> {
    let grade = pipeline.grade.as_ref()?;
    let grader = Grader::parse(&grade.value.rules).ok()?;
    Some(grader.direction())
}

/// Parses the competition's leaderboard, if it has one. If `direction` is known, also checks the order of the scores.
///
/// # Errors
/// Returns an error if it is invalid, or if it is not sorted from the best score to the worst.
pub(crate) fn parse_leaderboard(
    entry: &CatalogEntry,
    direction: Option<Direction>,
) -> Result<Option<Leaderboard>, Error> {
    let Some(text) = entry.leaderboard.as_deref() else {
        return Ok(None);
    };
    let failed = |error: LeaderboardError| {
        let message = format!("leaderboard.csv of `{}`: {error}", entry.id);
        Error::new(Failure::Pipeline, message)
    };
    let leaderboard = Leaderboard::parse(text).map_err(failed)?;
    if let Some(direction) = direction {
        leaderboard.check_order(direction).map_err(|error| {
            failed(error).help(
                "sort the scores, best first, or set `direction` in `grade` if scores of the metric have the opposite order",
            )
        })?;
    }
    Ok(Some(leaderboard))
}
