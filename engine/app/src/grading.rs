//! What it takes to grade submissions of one competition: its grader, the prepared answers, the leaderboard.

use std::path::Path;

use jiff::Zoned;
use prep_core::Failure;
use prep_formats::pandas::Frame;
use prep_grade::medals::Leaderboard;
use prep_grade::report::CompetitionReport;
use prep_grade::{Grader, Outcome, submission};
use prep_spec::BASE_VARIANT;

use crate::answers::Prepared;
use crate::catalog::{Catalog, Entry};
use crate::error::Error;
use crate::settings::Settings;

/// Grades submissions of one competition. Made once, used for many, from several threads.
pub struct Grading {
    id: String,
    leaderboard: Leaderboard,
    /// The variant that is prepared.
    variant: String,
    grader: Grader,
    answers: Frame,
}

impl Grading {
    /// Reads what is prepared of a competition.
    ///
    /// # Errors
    /// When it is not prepared, not completely so, or changed since; when it was prepared by something else and its answers
    /// are not the published ones; when it has no grading or no leaderboard.
    pub fn open(catalog: &Catalog, settings: &Settings, id: &str) -> Result<Grading, Error> {
        let entry = catalog.get(id)?;
        entry.pipeline()?;
        let prepared = Prepared::open(settings, id)?;
        let variant = prepared.variant().unwrap_or(BASE_VARIANT);
        let pipeline = entry.load(variant)?;
        let no_grading = || {
            let message = format!("the pipeline of `{id}` has no section `grade`");
            Error::new(Failure::Pipeline, message)
        };
        let grade = pipeline.grade.as_ref().ok_or_else(no_grading)?;
        let grader = Grader::parse(&grade.value.rules).map_err(|error| {
            Error::new(Failure::Pipeline, format!("{}: {error}", entry.file_name))
        })?;
        let answers = &grade.value.answers.value;
        if !grader.answers_are_json() && !answers.ends_with(".csv") {
            let message = format!("`{id}` cannot be graded: its answers are no CSV file");
            return Err(Error::new(Failure::Pipeline, message));
        }
        let bytes = prepared.answers(entry, answers)?;
        let answers = grader.read_answers(&bytes).map_err(|error| {
            let place = prepared.place(answers);
            let message = format!("the answers {}: {error}", place.display());
            Error::new(Failure::Input, message)
        })?;
        Ok(Grading {
            id: id.to_owned(),
            leaderboard: leaderboard(entry)?,
            variant: variant.to_owned(),
            grader,
            answers,
        })
    }

    /// Validates and scores a submission; none when there is no file of that name that ends in `.csv`.
    pub fn grade(&self, path: &Path) -> Option<Outcome> {
        submission::exists(path).then(|| match submission::read(path) {
            Ok(submission) => self.grader.grade(&self.answers, &submission),
            Err(refusal) => Outcome::Refused(refusal),
        })
    }

    /// Grades a submission, as of now, and reports.
    pub fn report(&self, path: &Path) -> CompetitionReport {
        let outcome = self.grade(path);
        let now = Zoned::now().datetime();
        let path = path.to_string_lossy();
        CompetitionReport::new(
            &self.id,
            &path,
            outcome,
            &self.leaderboard,
            &self.variant,
            now,
        )
    }
}

/// Grades one submission. Where there is none, the report has the medals' thresholds only, for which nothing need be
/// prepared.
///
/// # Errors
/// As [`Grading::open`], if there is a submission; when the competition has no leaderboard.
pub fn report(
    catalog: &Catalog,
    settings: &Settings,
    id: &str,
    submission: &Path,
) -> Result<CompetitionReport, Error> {
    if submission::exists(submission) {
        return Ok(Grading::open(catalog, settings, id)?.report(submission));
    }
    let leaderboard = leaderboard(catalog.get(id)?)?;
    let manifest = crate::prepared::manifest(&settings.data_dir, id)?;
    let variant = manifest.map_or_else(|| BASE_VARIANT.to_owned(), |one| one.variant);
    let path = submission.to_string_lossy();
    let now = Zoned::now().datetime();
    Ok(CompetitionReport::new(
        id,
        &path,
        None,
        &leaderboard,
        &variant,
        now,
    ))
}

fn leaderboard(entry: &Entry) -> Result<Leaderboard, Error> {
    let none = || {
        Error::new(
            Failure::Pipeline,
            format!("competition `{}` has no leaderboard.csv", entry.id),
        )
    };
    let text = entry.leaderboard.as_deref().ok_or_else(none)?;
    Leaderboard::parse(text).map_err(|error| {
        Error::new(
            Failure::Pipeline,
            format!("leaderboard.csv of `{}`: {error}", entry.id),
        )
    })
}
