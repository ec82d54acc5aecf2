//! `prep validate`: is a submission valid? The same code as grading, without telling the score.

use std::path::PathBuf;

use clap::Args;
use prep_app::{Catalog, Grading};
use prep_grade::Outcome;
use serde_json::json;

use crate::exit::Exit;
use crate::{Ended, Session};

/// Check whether a submission is valid, without telling its score; ends with 0 or 1
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep validate submission.csv spaceship-titanic
  prep validate submission.csv spaceship-titanic --json")]
pub struct Validate {
    #[arg(value_name = "SUBMISSION.csv")]
    submission: PathBuf,
    #[arg(value_name = "ID")]
    id: String,
}

impl Validate {
    pub fn call(&self, session: &Session) -> Ended {
        let catalog = Catalog::of(&session.settings)?;
        let grading = Grading::open(&catalog, &session.settings, &self.id)?;
        let problem = match grading.grade(&self.submission) {
            Some(Outcome::Score { .. }) => None,
            Some(Outcome::Refused(refusal)) => Some((refusal.kind.name(), refusal.to_string())),
            None => {
                let message = format!(
                    "{} is no file whose name ends in .csv",
                    self.submission.display()
                );
                Some(("unreadable", message))
            }
        };
        let message = match &problem {
            None => "Submission is valid.".to_owned(),
            Some((_, message)) => format!("Submission invalid! {message}"),
        };
        if session.printer.json {
            let reason = problem.as_ref().map(|(kind, _)| *kind);
            session.printer.json(
                &json!({ "valid": problem.is_none(), "message": message, "reason": reason }),
            )?;
        } else {
            session.printer.result(&(message + "\n"))?;
        }
        Ok(if problem.is_none() {
            Exit::Success
        } else {
            Exit::Failed
        })
    }
}
