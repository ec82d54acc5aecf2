//! What it takes to grade submissions of one competition: its grader, the prepared answers, the leaderboard.

use std::path::Path;

use jiff::Zoned;
use md5::{Digest as _, Md5};
use prep_formats::pandas::{Frame, ReadOptions, read_frame};
use prep_grade::medals::Leaderboard;
use prep_grade::report::CompetitionReport;
use prep_grade::{Grader, Outcome, submission};
use prep_spec::BASE_VARIANT;
use prep_steps::{Checksums, Manifest};

use crate::catalog::{Catalog, Entry};
use crate::error::CliError;
use crate::exit::Exit;
use crate::prepared;
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
    pub fn open(catalog: &Catalog, settings: &Settings, id: &str) -> Result<Grading, CliError> {
        let data_dir = &settings.data_dir;
        let entry = catalog.get(id)?;
        let text = entry.pipeline()?;
        let folder = data_dir.join(id).join("prepared");
        let manifest = prepared::manifest(data_dir, id)?;
        let broken = || {
            let message =
                format!("the prepared data of `{id}` is not complete, or was changed since");
            CliError::new(Exit::Input, message).help(format!("`prep run -c {id}` mends it"))
        };
        if manifest
            .as_ref()
            .is_some_and(|manifest| !manifest.is_intact(&folder))
        {
            return Err(broken());
        }
        let variant = manifest
            .as_ref()
            .map_or(BASE_VARIANT, |one| one.variant.as_str());
        let pipeline = prep_spec::load(
            prep_steps::vocabulary(),
            id,
            &entry.file_name,
            text,
            variant,
        )?;
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
        let answers = &grade.value.answers.value;
        let path = folder.join(answers);
        if path.extension().is_none_or(|extension| extension != "csv") {
            let message = format!("`{id}` cannot be graded: its answers are no CSV file");
            return Err(CliError::new(Exit::Pipeline, message));
        }
        if manifest.is_none() && !path.exists() {
            return Err(prepared::not_prepared(id));
        }
        let bytes = std::fs::read(&path)
            .map_err(|error| CliError::file("read the answers", &path, &error))?;
        let sound = match &manifest {
            None if !are_published(&bytes, entry, answers) => {
                return Err(prepared::not_ours(id, &folder));
            }
            // Only the answers count here: the rest of the tree is looked at by the next run.
            Some(manifest) => {
                manifest.is_settled(settings.boot.as_deref())
                    || Manifest::vouches_for(data_dir, id, answers, &bytes)
            }
            None => true,
        };
        if !sound {
            return Err(broken());
        }
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

/// Whether answers that somebody else prepared (the benchmark's own scripts, say) are the published ones.
fn are_published(answers: &[u8], entry: &Entry, path: &str) -> bool {
    let sums = entry.checksums.as_deref();
    let sums = sums.and_then(|text| serde_json::from_str::<Checksums>(text).ok());
    let expected = sums.and_then(|sums| {
        let name = path.strip_prefix("private/")?;
        sums.private.get(name).cloned()
    });
    let found: String = Md5::digest(answers)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    expected.is_some_and(|expected| expected.eq_ignore_ascii_case(&found))
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
