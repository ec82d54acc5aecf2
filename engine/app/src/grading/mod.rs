//! What it takes to grade submissions of one competition: its grader, the prepared answers, the leaderboard.
//!
//! ```text
//! answers      which prepared answers may be trusted        comparable   whether scores mean what the benchmark's mean
//! list         many submissions, one report                 validation   an outcome in words, without a score
//! log          DATA/grades.jsonl: who asked the grader
//! ```

mod answers;
pub(crate) mod comparable;
mod list;
mod log;
mod validation;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Zoned;
use prep_core::Failure;
use prep_digests::{Sha256, digest_of_file};
use prep_formats::pandas::Frame;
use prep_grade::metrics::Direction;
use prep_grade::report::medals::{Leaderboard, LeaderboardError};
use prep_grade::report::{CompetitionReport, Digests, Variant};
use prep_grade::table::submission;
use prep_grade::{Grader, Outcome, Refusal, RefusalKind};
use prep_spec::{BASE_VARIANT, Pipeline};

use self::answers::Prepared;
use self::comparable::Answers;
use crate::catalog::{Catalog, Entry};
use crate::error::Error;
use crate::settings::Settings;

pub use self::comparable::Comparability;
pub use self::list::{Graded, grade_list};
pub use self::validation::{Validation, one_line};
use crate::digests;

/// Grades submissions of one competition. Made once, used for many, from several threads.
pub struct Grading {
    id: String,
    /// None of a competition of one's own, perhaps: then there are no medals.
    leaderboard: Option<Leaderboard>,
    /// What is prepared.
    variant: Variant,
    grader: Grader,
    answers: Frame,
    /// Of the file with the answers.
    answers_digest: Sha256,
    digests: Digests,
    /// The data folder whose log is kept.
    log: Option<(PathBuf, Log)>,
}

/// Whether gradings are noted in the data folder's log, and who is told when that cannot be done.
#[derive(Clone, Default)]
pub struct Log(Option<Arc<Trouble>>);

type Trouble = dyn Fn(&Error) + Send + Sync;

impl Log {
    /// They are. A data folder that cannot be written does not keep anyone from grading.
    pub fn kept(trouble: impl Fn(&Error) + Send + Sync + 'static) -> Log {
        Log(Some(Arc::new(trouble)))
    }

    /// They are not.
    pub fn off() -> Log {
        Log(None)
    }
}

impl Grading {
    /// Reads what is prepared of a competition.
    ///
    /// # Errors
    /// When it is not prepared, not completely so, or changed since; when it was prepared by something else and its answers
    /// are not the published ones; when it has no grading, or a leaderboard that is none.
    pub fn open(catalog: &Catalog, settings: &Settings, id: &str) -> Result<Grading, Error> {
        let entry = catalog.get(id)?;
        entry.pipeline()?;
        let prepared = Prepared::open(settings, id)?;
        let variant = prepared.variant().unwrap_or(BASE_VARIANT);
        let pipeline = entry.load(variant)?;
        let (grader, answers) = grader(entry, &pipeline)?;
        let bytes = prepared.answers(entry, &answers)?;
        let data = match prepared.manifest() {
            Some(manifest) => Answers::Prepared(manifest, &bytes),
            None => Answers::Foreign(&bytes),
        };
        let comparability = Comparability::of_grading(entry, &answers, &data)?;
        Ok(Grading {
            id: id.to_owned(),
            leaderboard: leaderboard_of(entry, Some(grader.direction()))?,
            variant: comparability.variant(variant),
            answers: read(&grader, &bytes, &prepared.place(&answers))?,
            grader,
            answers_digest: Sha256::of(&bytes),
            digests: digests::noted(entry, &pipeline, variant, prepared.trees()),
            log: None,
        })
    }

    /// The same, with every grading noted in the log of the settings' data folder.
    #[must_use]
    pub fn logged(self, settings: &Settings, log: &Log) -> Grading {
        Grading {
            log: Some((settings.data_dir.clone(), log.clone())),
            ..self
        }
    }

    /// Grades against given answers by a competition's rules. The answers are taken as they are: nobody vouches for them.
    ///
    /// # Errors
    /// When the answers or the leaderboard cannot be read; when the competition has no grading.
    pub fn with_answers(catalog: &Catalog, id: &str, given: &Given) -> Result<Grading, Error> {
        let entry = catalog.get(id)?;
        let (grader, path) = grader(entry, &entry.load(BASE_VARIANT)?)?;
        let bytes = std::fs::read(&given.answers)
            .map_err(|error| Error::reading("read the answers", &given.answers, &error))?;
        let comparability =
            Comparability::of_grading(entry, &path, &Answers::Foreign(&bytes))?.on(given);
        Ok(Grading {
            id: id.to_owned(),
            leaderboard: given.leaderboard(entry)?,
            variant: comparability.variant(BASE_VARIANT),
            answers: read(&grader, &bytes, &given.answers)?,
            grader,
            answers_digest: Sha256::of(&bytes),
            digests: Digests {
                answers: Some(digests::text(Sha256::of(&bytes))),
                ..Digests::default()
            },
            log: None,
        })
    }

    /// What is prepared of a competition, as [`open`](Self::open) reads it; where something else prepared it, its answers
    /// are taken as they are.
    ///
    /// # Errors
    /// As [`open`](Self::open), but for what nobody vouches for.
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
        let folder = settings.data_dir.join(id).join("prepared");
        let answers = folder.join(answers);
        if !answers.is_file() {
            return Err(crate::prepared::not_prepared(id));
        }
        let given = Given {
            answers,
            leaderboard: None,
        };
        Grading::with_answers(catalog, id, &given)
    }

    /// Validates and scores a submission; none when there is no file of that name that ends in `.csv`.
    pub fn grade(&self, path: &Path) -> Option<Outcome> {
        submission::exists(path).then(|| {
            let outcome = File::open(path).and_then(|file| self.grade_file(&file));
            outcome.unwrap_or_else(|error| {
                let message = format!("cannot read `{}`: {error}", path.display());
                Outcome::Refused(Refusal::new(RefusalKind::Unreadable, message))
            })
        })
    }

    /// Validates and scores a submission, whatever its name is, if it has one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn grade_file(&self, file: &File) -> io::Result<Outcome> {
        self.grader.grade_file(&self.answers, file)
    }

    /// Grades a submission, as of now, and reports.
    pub fn report(&self, path: &Path) -> CompetitionReport {
        self.report_of(path, self.grade(path))
    }

    /// Reports an outcome, as of now; `path` is what the report calls the submission.
    pub fn report_of(&self, path: &Path, outcome: Option<Outcome>) -> CompetitionReport {
        let now = Zoned::now().datetime();
        let submission = outcome.as_ref().and_then(|_| digest_of_file(path).ok());
        let submission = submission.map(|(digest, _)| digest);
        let path = path.to_string_lossy();
        let report = CompetitionReport::new(
            &self.id,
            &path,
            outcome,
            self.leaderboard.as_ref(),
            &self.variant,
            now,
        );
        let report = CompetitionReport {
            digests: Digests {
                submission: submission.map(digests::text),
                ..self.digests.clone()
            },
            ..report
        };
        self.note(&report, submission);
        report
    }

    /// Notes a grading in the log, if one is kept.
    fn note(&self, report: &CompetitionReport, submission: Option<Sha256>) {
        let Some((data_dir, Log(Some(trouble)))) = &self.log else {
            return;
        };
        let noted = log::append(data_dir, report, submission, self.answers_digest);
        if let Err(error) = noted {
            let place = data_dir.join(log::NAME);
            trouble(&Error::writing("note the grading in", &place, &error));
        }
    }
}

/// Answers, and if need be a leaderboard, that are not those of the data folder and the competition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub answers: PathBuf,
    pub leaderboard: Option<PathBuf>,
}

impl Given {
    fn leaderboard(&self, entry: &Entry) -> Result<Option<Leaderboard>, Error> {
        match &self.leaderboard {
            None => own_leaderboard(entry),
            Some(path) => read_leaderboard(path).map(Some),
        }
    }
}

/// The leaderboard in a file.
///
/// # Errors
/// When it cannot be read, or is none.
pub fn read_leaderboard(path: &Path) -> Result<Leaderboard, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::reading("read the leaderboard", path, &error))?;
    Leaderboard::parse(&text)
        .map_err(|error| Error::new(Failure::Input, format!("{}: {error}", path.display())))
}

/// A competition's grader, and where its answers are below `prepared`.
pub(crate) fn grader(entry: &Entry, pipeline: &Pipeline) -> Result<(Grader, String), Error> {
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
            "`{}` cannot be graded: its answers are no CSV file",
            entry.id
        );
        return Err(Error::new(Failure::Pipeline, message));
    }
    Ok((grader, answers.clone()))
}

pub(crate) fn read(grader: &Grader, bytes: &[u8], place: &Path) -> Result<Frame, Error> {
    grader.read_answers(bytes).map_err(|error| {
        let message = format!("the answers {}: {error}", place.display());
        Error::new(Failure::Input, message)
    })
}

/// Grades one submission, against what is prepared or against given answers. Where there is none, the report has the
/// medals' thresholds only, for which nothing need be prepared.
///
/// # Errors
/// As [`Grading::open`], if there is a submission.
pub fn report(
    catalog: &Catalog,
    settings: &Settings,
    id: &str,
    submission: &Path,
    given: Option<&Given>,
    log: &Log,
) -> Result<CompetitionReport, Error> {
    if submission::exists(submission) {
        let grading = match given {
            Some(given) => Grading::with_answers(catalog, id, given)?,
            None => Grading::open(catalog, settings, id)?.logged(settings, log),
        };
        return Ok(grading.report(submission));
    }
    let entry = catalog.get(id)?;
    let leaderboard =
        given.map_or_else(|| own_leaderboard(entry), |given| given.leaderboard(entry))?;
    let manifest = crate::prepared::manifest(&settings.data_dir, id)?;
    let (comparability, variant) = match &manifest {
        Some(manifest) => (
            Comparability::of_prepared(entry, manifest)?,
            manifest.variant.as_str(),
        ),
        None => (Comparability::of_files(entry), BASE_VARIANT),
    };
    let comparability = match given {
        Some(given) => comparability.on(given),
        None => comparability,
    };
    let path = submission.to_string_lossy();
    let now = Zoned::now().datetime();
    Ok(CompetitionReport::new(
        id,
        &path,
        None,
        leaderboard.as_ref(),
        &comparability.variant(variant),
        now,
    ))
}

/// The competition's leaderboard.
///
/// # Errors
/// When it has none.
pub fn leaderboard(entry: &Entry) -> Result<Leaderboard, Error> {
    own_leaderboard(entry)?.ok_or_else(|| {
        let message = format!("competition `{}` has no leaderboard.csv", entry.id);
        Error::new(Failure::Pipeline, message)
            .help("put one beside the pipeline: a CSV with the column `score`, best first")
    })
}

/// The competition's leaderboard, if it has one.
fn own_leaderboard(entry: &Entry) -> Result<Option<Leaderboard>, Error> {
    let pipeline = entry.load(BASE_VARIANT).ok();
    leaderboard_of(entry, pipeline.as_ref().and_then(direction))
}

/// Which scores of a pipeline's metric are better.
pub(crate) fn direction(pipeline: &Pipeline) -> Option<Direction> {
    let grade = pipeline.grade.as_ref()?;
    let grader = Grader::parse(&grade.value.rules).ok()?;
    Some(grader.direction())
}

/// The competition's leaderboard, if it has one.
///
/// # Errors
/// When it cannot be read, or does not begin with the score that is the best in this direction.
pub(crate) fn leaderboard_of(
    entry: &Entry,
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
                "sort the scores, best first, or set `direction` in `grade` if the metric runs the other way",
            )
        })?;
    }
    Ok(Some(leaderboard))
}
