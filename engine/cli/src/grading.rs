//! What it takes to grade submissions of one competition: its grader, the prepared answers, the leaderboard.

use std::path::Path;

use jiff::Zoned;
use prep_formats::pandas::{Frame, ReadOptions, read_frame};
use prep_grade::medals::Leaderboard;
use prep_grade::report::CompetitionReport;
use prep_grade::{Grader, Outcome, submission};

use crate::catalog::{Catalog, Entry};
use crate::error::CliError;
use crate::exit::Exit;
use crate::prepared;

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
    /// When it is not prepared, not completely so, or changed since; when it has no grading or no leaderboard.
    pub fn open(catalog: &Catalog, data_dir: &Path, id: &str) -> Result<Grading, CliError> {
        let entry = catalog.get(id)?;
        let text = entry.pipeline()?;
        let folder = data_dir.join(id).join("prepared");
        let manifest =
            prepared::manifest(data_dir, id)?.ok_or_else(|| prepared::not_prepared(id))?;
        if !manifest.is_intact(&folder) {
            let message =
                format!("the prepared data of `{id}` is not complete, or was changed since");
            return Err(
                CliError::new(Exit::Input, message).help(format!("`prep run -c {id}` mends it"))
            );
        }
        let pipeline = prep_spec::load(id, &entry.file_name, text, &manifest.variant)?;
        let no_grading = || {
            CliError::new(
                Exit::Pipeline,
                format!("the pipeline of `{id}` has no section `grade`"),
            )
        };
        let grade = pipeline.grade.as_ref().ok_or_else(no_grading)?;
        let grader = Grader::parse(&grade.value.rules).map_err(|error| {
            CliError::new(Exit::Pipeline, format!("{}: {error}", entry.file_name))
        })?;
        let path = folder.join(&grade.value.answers.value);
        if path.extension().is_none_or(|extension| extension != "csv") {
            let message = format!("`{id}` cannot be graded: its answers are no CSV file");
            return Err(CliError::new(Exit::Pipeline, message));
        }
        let bytes = std::fs::read(&path)
            .map_err(|error| CliError::file("read the answers", &path, &error))?;
        let answers = read_frame(&bytes, &ReadOptions::default()).map_err(|error| {
            CliError::new(
                Exit::Input,
                format!("the answers {}: {error}", path.display()),
            )
        })?;
        let leaderboard = leaderboard(entry)?;
        Ok(Grading {
            id: id.to_owned(),
            leaderboard,
            variant: manifest.variant,
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

fn leaderboard(entry: &Entry) -> Result<Leaderboard, CliError> {
    let none = || {
        CliError::new(
            Exit::Pipeline,
            format!("competition `{}` has no leaderboard.csv", entry.id),
        )
    };
    let text = entry.leaderboard.as_deref().ok_or_else(none)?;
    Leaderboard::parse(text).map_err(|error| {
        CliError::new(
            Exit::Pipeline,
            format!("leaderboard.csv of `{}`: {error}", entry.id),
        )
    })
}
