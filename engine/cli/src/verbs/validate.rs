//! `prep validate`: checks whether a submission is valid. Runs the same code as grading, but does not show the score.

use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{Catalog, Grading, Submission, Validation};
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::options::{GivenArgs, VariantArg};
use crate::session::{CliSession, VerbResult};

/// Check a submission without showing its score
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep validate spaceship-titanic submission.csv
  prep validate spaceship-titanic submission.csv --json

The exit code is 0 if the submission is valid, and 1 if it is not.")]
pub struct ValidateArgs {
    /// The competition
    #[arg(value_name = "ID")]
    id: String,
    /// The submission
    #[arg(value_name = "SUBMISSION.csv")]
    submission: PathBuf,
    #[command(flatten)]
    given: GivenArgs,
    #[command(flatten)]
    variant: VariantArg,
}

impl ValidateArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let catalog = session.catalog()?;
        let is_known = |name: &str| catalog.find(name).is_some();
        if !is_known(&self.id) && is_known(&self.submission.to_string_lossy()) {
            return Err(CliError::swapped(Path::new(&self.id), &self.submission));
        }
        let name = self.submission.to_string_lossy();
        let outcome = match Submission::open(&self.submission) {
            Ok(submission) => self.grading(session, &catalog)?.grade(&submission),
            Err(error) => Err(error),
        };
        let found = Validation::of(&name, &outcome);
        let json = || {
            json!({
                "competitions": [{
                    "id": self.id,
                    "valid": found.valid,
                    "message": found.message,
                    "reason": found.reason,
                }],
            })
        };
        let text = || format!("{}\n", found.message);
        session.printer.show(json, text)?;
        Ok(if found.valid { Exit::Success } else { Exit::No })
    }

    fn grading(&self, session: &CliSession, catalog: &Catalog) -> Result<Grading, CliError> {
        let grading = match self.given.overrides() {
            Some(given) => Grading::with_answers(catalog, &self.id, &given)?,
            None => Grading::open(catalog, &self.variant.settings(session), &self.id)?,
        };
        for warning in grading.warnings() {
            session.printer.warning(warning);
        }
        Ok(grading)
    }
}
