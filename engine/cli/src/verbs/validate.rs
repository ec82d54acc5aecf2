//! `prep validate`: is a submission valid? The same code as grading, without telling the score.

use std::path::PathBuf;

use clap::Args;
use prep_app::{Catalog, Grading, Validation};
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::options::Which;
use crate::session::{Ended, Session};
use crate::verbs::grade_sample::GivenArgs;

/// Check whether a submission is valid, without telling its score; ends with 0 or 1
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep validate submission.csv spaceship-titanic
  prep validate submission.csv spaceship-titanic --json")]
pub struct Validate {
    /// The submission
    #[arg(value_name = "SUBMISSION.csv")]
    submission: PathBuf,
    /// The competition
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    given: GivenArgs,
    #[command(flatten)]
    which: Which,
}

impl Validate {
    pub fn call(&self, session: &Session) -> Ended {
        let catalog = session.catalog()?;
        let name = self.submission.to_string_lossy();
        if catalog.find(&name).is_some() && !self.submission.exists() {
            let message = format!("`{name}` is a competition, not a submission");
            let help = format!(
                "the submission comes first: `prep validate {} {name}`",
                self.id
            );
            return Err(CliError::usage(message).help(help));
        }
        let found = match Validation::before_grading(&self.submission) {
            Some(found) => found,
            None => self.grade(session, &catalog)?,
        };
        if session.printer.json {
            session.printer.json(&json!({
                "valid": found.valid,
                "message": found.message,
                "reason": found.reason,
            }))?;
        } else {
            session.printer.result(&(found.message + "\n"))?;
        }
        Ok(if found.valid {
            Exit::Success
        } else {
            Exit::Failed
        })
    }

    fn grade(&self, session: &Session, catalog: &Catalog) -> Result<Validation, CliError> {
        let grading = match self.given.given() {
            Some(given) => Grading::with_answers(catalog, &self.id, &given)?,
            None => Grading::open(catalog, &self.which.settings(session), &self.id)?,
        };
        let outcome = grading.grade(&self.submission);
        Ok(match outcome {
            Some(outcome) => Validation::of(&outcome),
            None => Validation::before_grading(&self.submission).ok_or_else(|| {
                CliError::new(Exit::Failed, "the submission changed while it was read")
            })?,
        })
    }
}
