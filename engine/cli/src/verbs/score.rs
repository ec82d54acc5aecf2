//! `prep score`: one table against another by a competition's rules, without medals.

use std::path::PathBuf;

use clap::Args;
use prep_app::{Given, Grading, one_line};
use prep_grade::Outcome;
use prep_grade::report::{Object, pretty};

use crate::error::CliError;
use crate::exit::Exit;
use crate::session::{Ended, Session};

/// Score a table against given answers by a competition's rules, without medals
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep score predictions.csv spaceship-titanic --answers my-split.csv

The answers are taken as they are; they need not be those of the competition. Ends with 1 when the table is refused.")]
pub struct Score {
    /// The table of predictions
    #[arg(value_name = "TABLE.csv")]
    table: PathBuf,
    /// The competition whose rules count
    #[arg(value_name = "ID")]
    id: String,
    /// What it is scored against
    #[arg(long, value_name = "FILE")]
    answers: PathBuf,
}

impl Score {
    pub fn call(&self, session: &Session) -> Ended {
        let catalog = session.catalog()?;
        let given = Given {
            answers: self.answers.clone(),
            leaderboard: None,
        };
        let grading = Grading::with_answers(&catalog, &self.id, &given)?;
        let Some(outcome) = grading.grade(&self.table) else {
            let message = format!(
                "{} is no file whose name ends in .csv",
                self.table.display()
            );
            return Err(CliError::new(Exit::Input, message));
        };
        let (value, rounded, reason) = match &outcome {
            Outcome::Score { value, rounded } => (Some(*value), Some(*rounded), None),
            Outcome::Refused(refusal) => (None, None, Some(one_line(&refusal.to_string()))),
        };
        let exit = match &outcome {
            Outcome::Score { .. } => Exit::Success,
            Outcome::Refused(_) => Exit::Failed,
        };
        let printer = &session.printer;
        if printer.json {
            let keys = Object::from_iter([
                ("score", value.into()),
                ("rounded", rounded.into()),
                ("reason", reason.into()),
            ]);
            printer.result(&(pretty(keys) + "\n"))?;
        } else {
            match outcome {
                Outcome::Score { value, .. } => printer.result(&format!("{value}\n"))?,
                Outcome::Refused(refusal) => {
                    return Err(CliError::new(Exit::Failed, refusal.to_string()));
                }
            }
        }
        Ok(exit)
    }
}
