//! `prep cache log`: shows the last runs and their steps.

use clap::Args;
use prep_app::{LoggedRun, LoggedStep, local_time, logged_runs, reasons};
use prep_core::{StepOutcome, units};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::table::{Align, PrintedTable};
use crate::session::{CliSession, VerbResult};

/// Show the last runs, and which steps ran and why
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep cache log
  prep cache log @0
  prep cache log spaceship-titanic --failed
  prep cache log @1 --json | jq '.runs[0].steps[] | {id, step, why}'

@0 is the latest run. Without a run and an ID, the command lists the last 100 runs. With one of them, it lists the steps that \
ran; steps whose results were found are not logged.")]
pub struct RunLogArgs {
    /// A run (@N) and ids of competitions
    #[arg(value_name = "@N|ID")]
    operands: Vec<String>,
    /// Only failed steps
    #[arg(long)]
    failed: bool,
}

impl RunLogArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let mut runs = logged_runs(&session.settings)?;
        let (numbers, ids) = self.parse_selection()?;
        if let Some(missing) = numbers.iter().find(|number| **number >= runs.len()) {
            let message = format!("there is no run @{missing} in the log");
            return Err(CliError::new(Exit::Input, message).help("`prep cache log` lists the runs"));
        }
        runs.retain(|run| numbers.is_empty() || numbers.contains(&run.number));
        for run in &mut runs {
            run.steps.retain(|step| {
                let is_selected = ids.is_empty() || ids.contains(&step.competition);
                is_selected && (step.failed() || !self.failed)
            });
        }
        let is_overview = self.operands.is_empty() && !self.failed;
        if session.printer.json {
            session.printer.json(&json!({ "runs": runs }))?;
        } else if is_overview {
            session.printer.table(&overview(&runs))?;
        } else {
            session.printer.table(&steps(&runs))?;
        }
        Ok(Exit::Success)
    }

    /// Splits the operands into numbers of runs and ids.
    fn parse_selection(&self) -> Result<(BTreeSet<usize>, BTreeSet<String>), CliError> {
        let (mut numbers, mut ids) = (BTreeSet::new(), BTreeSet::new());
        for word in &self.operands {
            match word.strip_prefix('@').map(str::parse) {
                Some(Ok(number)) => {
                    numbers.insert(number);
                }
                Some(Err(_)) => {
                    return Err(CliError::usage(format!("`{word}` is not a run"))
                        .help("write @0 for the latest run"));
                }
                None => {
                    ids.insert(word.clone());
                }
            }
        }
        Ok((numbers, ids))
    }
}

/// Returns a table with a row per run.
fn overview(runs: &[LoggedRun]) -> PrintedTable {
    let mut table = PrintedTable::new(&[
        ("run", Align::Left),
        ("started", Align::Left),
        ("time", Align::Right),
        ("steps", Align::Right),
        ("failed", Align::Right),
        ("competitions", Align::Left),
    ]);
    for run in runs {
        let time = run.finished.map(|end| end.saturating_sub(run.started));
        let ran = run.steps.iter();
        let ran = ran.filter(|step| matches!(step.outcome, StepOutcome::Done { .. }));
        let failed = run.steps.iter().filter(|step| step.failed()).count();
        table.row(vec![
            format!("@{}", run.number),
            local_time(run.started),
            time.map_or("not ended".to_owned(), |time| {
                units::duration(Duration::from_secs(time))
            }),
            ran.count().to_string(),
            failed.to_string(),
            names(&run.selected),
        ]);
    }
    table
}

/// Maximum number of ids that are shown per run.
const MAX_IDS: usize = 3;

fn names(ids: &[String]) -> String {
    let shown: Vec<&str> = ids.iter().take(MAX_IDS).map(String::as_str).collect();
    match ids.len().saturating_sub(MAX_IDS) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Returns a table with a row per step.
fn steps(runs: &[LoggedRun]) -> PrintedTable {
    let mut table = PrintedTable::new(&[
        ("run", Align::Left),
        ("step", Align::Left),
        ("kind", Align::Left),
        ("time", Align::Right),
        ("why", Align::Left),
        ("result", Align::Left),
    ]);
    for run in runs {
        for step in &run.steps {
            let (time, result) = outcome(step);
            table.row(vec![
                format!("@{}", run.number),
                format!("{}/{}", step.competition, step.step),
                step.kind.clone(),
                time,
                step.why.as_ref().map(reasons::short).unwrap_or_default(),
                result,
            ]);
        }
    }
    table
}

/// Returns the time and the result of a step.
fn outcome(step: &LoggedStep) -> (String, String) {
    match &step.outcome {
        StepOutcome::Done { millis } => {
            let time = units::duration(Duration::from_millis(*millis));
            (time, "done".to_owned())
        }
        StepOutcome::Reused => (String::new(), "reused".to_owned()),
        StepOutcome::Failed { message, .. } => (String::new(), format!("failed: {message}")),
        StepOutcome::Skipped { because } => (String::new(), format!("skipped after {because}")),
        StepOutcome::Cancelled => (String::new(), "stopped".to_owned()),
    }
}
