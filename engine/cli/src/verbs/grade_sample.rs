//! `prep grade-sample`: one submission, the benchmark's report.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use prep_app::Given;
use prep_grade::report::CompetitionReport;

use crate::exit::Exit;
use crate::options::Which;
use crate::session::{Ended, Session};
use crate::verbs::grade::LogArgs;

/// Grade one submission; the report is JSON, and also shows the medals' thresholds where there is no submission
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep grade-sample submission.csv spaceship-titanic
  prep grade-sample submission.csv spaceship-titanic 2>/dev/null | jq .score
  prep grade-sample None spaceship-titanic        thresholds only; nothing need be prepared

The report goes to stdout and, as harnesses of the benchmark expect, to stderr; -q keeps it off stderr. \
Ends with 1 when the submission is not valid.")]
pub struct GradeSample {
    /// The submission; a file that is not there for the thresholds alone
    #[arg(value_name = "SUBMISSION.csv")]
    submission: PathBuf,
    /// The competition
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    given: GivenArgs,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    log: LogArgs,
}

/// Options that name answers and leaderboard.
#[derive(Debug, Clone, Default, Args)]
pub struct GivenArgs {
    /// Grade against these answers, as they are, instead of the prepared ones
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Rank on this leaderboard instead of the competition's: a CSV with the column `score`, best first
    #[arg(long, value_name = "FILE.csv", requires = "answers")]
    leaderboard: Option<PathBuf>,
}

impl GivenArgs {
    pub fn given(&self) -> Option<Given> {
        Some(Given {
            answers: self.answers.clone()?,
            leaderboard: self.leaderboard.clone(),
        })
    }
}

/// Says of which competitions there are no medals.
pub fn without_leaderboard(session: &Session, reports: &[&CompetitionReport]) {
    let without = reports.iter().filter(|report| report.thresholds.is_none());
    let ids: BTreeSet<&str> = without
        .map(|report| report.competition_id.as_str())
        .collect();
    for id in ids {
        session.printer.message(format!(
            "`{id}` has no leaderboard.csv, so its scores earn no medals"
        ));
    }
}

impl GradeSample {
    pub fn call(&self, session: &Session) -> Ended {
        let catalog = session.catalog()?;
        let given = self.given.given();
        let report = prep_app::report(
            &catalog,
            &self.which.settings(session),
            &self.id,
            &self.submission,
            given.as_ref(),
            &self.log.log(session),
        )?;
        let text = prep_grade::report::pretty(report.to_json());
        session
            .printer
            .message(format!("Competition report:\n{text}"));
        session.printer.result(&(text + "\n"))?;
        without_leaderboard(session, std::slice::from_ref(&&report));
        Ok(if report.valid_submission() {
            Exit::Success
        } else {
            Exit::Failed
        })
    }
}
