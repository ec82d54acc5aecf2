//! `prep cache log`: shows the last runs and their steps.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;
use prep_app::{LoggedRun, LoggedStep, RunEnd, RunResult, local_time, logged_runs, reasons};
use prep_core::{StepOutcome, units};
use prep_spec::joined;
use serde_json::{Value, json};

use crate::error::{CliError, Exit};
use crate::output::table::PrintedTable;
use crate::session::{CliSession, VerbResult};

/// Show the last runs, and which steps ran and why
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep cache log
  prep cache log 0
  prep cache log spaceship-titanic --failed
  prep cache log 1 --json | jq '.runs[0].steps[] | {id, step, reason}'

Run 0 is the latest run. Without a run and an ID, the command lists the last 100 runs. With one of them, it lists the steps \
that ran. Steps whose results were found in the cache or the remote are not logged.")]
pub struct RunLogArgs {
    /// Numbers of runs and ids of competitions
    #[arg(value_name = "N|ID")]
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
            let message = format!("there is no run {missing} in the log");
            return Err(CliError::new(Exit::Input, message).help("`prep cache log` lists the runs"));
        }
        runs.retain(|run| numbers.is_empty() || numbers.contains(&run.number));
        let is_logged = |id: &String| runs.iter().any(|run| run.selected.contains(id));
        if let Some(id) = ids.iter().find(|id| !is_logged(id)) {
            session.catalog()?.get(id)?;
            let error = CliError::new(
                Exit::Input,
                format!("no run in the log contains the competition `{id}`"),
            );
            return Err(error.help("`prep cache log` lists the runs"));
        }
        runs.retain(|run| ids.is_empty() || run.selected.iter().any(|id| ids.contains(id)));
        for run in &mut runs {
            let is_selected = |id: &String| ids.is_empty() || ids.contains(id);
            run.refused.retain(|refused| is_selected(&refused.id));
            run.steps
                .retain(|step| is_selected(&step.competition) && (step.failed() || !self.failed));
        }
        let is_overview = self.operands.is_empty() && !self.failed;
        if session.printer.json {
            session.printer.json(&json!({ "runs": as_json(&runs) }))?;
        } else if is_overview {
            session.printer.table(&overview(&runs))?;
        } else {
            session.printer.table(&steps(&runs))?;
        }
        Ok(Exit::Success)
    }

    /// Splits the operands into numbers of runs and ids of competitions.
    fn parse_selection(&self) -> Result<(BTreeSet<usize>, BTreeSet<String>), CliError> {
        let (mut numbers, mut ids) = (BTreeSet::new(), BTreeSet::new());
        for word in &self.operands {
            match word.parse() {
                Ok(number) => {
                    numbers.insert(number);
                }
                Err(_) if word.starts_with('@') => {
                    return Err(CliError::usage(format!("`{word}` is not a run"))
                        .help("write 0 for the latest run"));
                }
                Err(_) => {
                    ids.insert(word.clone());
                }
            }
        }
        Ok((numbers, ids))
    }
}

/// Returns the JSON of runs. The log stores reasons in other forms, so they are converted to the form of other
/// commands.
fn as_json(runs: &[LoggedRun]) -> Vec<Value> {
    let run = |run: &LoggedRun| {
        let mut found = json!(run);
        reasons::state(&mut found, "error", "failed");
        let refused = found.get_mut("refused").and_then(Value::as_array_mut);
        for refused in refused.into_iter().flatten() {
            refused["kind"] = "not_planned".into();
        }
        let steps = run.steps.iter().map(|step| {
            let mut found = json!(step);
            reasons::join_failure(&mut found);
            found["reason"] = json!(step.why.as_ref().map(reasons::json));
            found.as_object_mut().map(|step| step.shift_remove("why"));
            found
        });
        found["steps"] = steps.collect();
        found
    };
    runs.iter().map(run).collect()
}

fn overview(runs: &[LoggedRun]) -> PrintedTable {
    let mut table = PrintedTable::with_header(
        ">run  started  >time  result  >steps  >reused  >failed  competitions",
    );
    for run in runs {
        let time = run.finished.map(|end| end.saturating_sub(run.started));
        let ran = run.steps.iter();
        let ran = ran.filter(|step| matches!(step.outcome, StepOutcome::Done { .. }));
        let failed = run.steps.iter().filter(|step| step.failed()).count();
        let reused = run.end.as_ref().map(|end| end.reused);
        table.row(vec![
            run.number.to_string(),
            local_time(run.started),
            time.map_or("-".to_owned(), whole_seconds),
            result(run.end.as_ref()).to_owned(),
            ran.count().to_string(),
            reused.map_or("-".to_owned(), |reused| reused.to_string()),
            failed.to_string(),
            joined(run.selected.iter().cloned(), MAX_IDS),
        ]);
    }
    table
}

/// Formats the difference of two times in whole seconds, which is 0 or 1 for a run of less than a second.
fn whole_seconds(time: u64) -> String {
    match time {
        0..2 => "< 2 s".to_owned(),
        2..60 => format!("{time} s"),
        _ => units::duration(Duration::from_secs(time)),
    }
}

fn result(end: Option<&RunEnd>) -> &'static str {
    match end.map(|end| end.result) {
        Some(RunResult::Done) => "done",
        Some(RunResult::Failed) => "failed",
        Some(RunResult::Stopped) => "stopped",
        None => "not ended",
    }
}

/// Maximum number of ids in a row.
const MAX_IDS: usize = 3;

/// Returns a row per step, per competition that could not be planned, and per error of a run.
fn steps(runs: &[LoggedRun]) -> PrintedTable {
    let mut table = PrintedTable::with_header(">run  step  kind  >time  why  result");
    for run in runs {
        let number = run.number.to_string();
        let mut other = |subject: &str, result: String| {
            let empty = String::new;
            table.row(vec![
                number.clone(),
                subject.to_owned(),
                empty(),
                empty(),
                empty(),
                result,
            ]);
        };
        for refused in &run.refused {
            other(
                &refused.id,
                format!("cannot be prepared: {}", refused.message),
            );
        }
        if let Some(error) = run.end.as_ref().and_then(|end| end.error.as_ref()) {
            other("the run", format!("failed: {error}"));
        }
        for step in &run.steps {
            let (time, result) = outcome(step);
            table.row(vec![
                number.clone(),
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

/// Returns the time and the result of a step, as cells of the table.
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

#[cfg(test)]
mod tests {
    use prep_app::RefusedCompetition;
    use prep_core::{Failure, Reason};

    use super::*;

    fn step(name: &str, outcome: StepOutcome) -> LoggedStep {
        LoggedStep {
            competition: "a".into(),
            step: name.into(),
            kind: "csv".into(),
            at: 6,
            why: Some(Reason::FirstRun),
            outcome,
        }
    }

    fn failed_run() -> LoggedRun {
        LoggedRun {
            number: 0,
            started: 5,
            finished: Some(7),
            program: "1".into(),
            variant: "v1".into(),
            selected: vec!["a".into(), "b".into()],
            refused: vec![RefusedCompetition {
                id: "b".into(),
                message: "no pipeline".into(),
            }],
            end: Some(RunEnd {
                result: RunResult::Failed,
                reused: 3,
                error: Some("disk full".into()),
            }),
            steps: vec![
                step("t", StepOutcome::Done { millis: 30 }),
                step(
                    "u",
                    StepOutcome::Failed {
                        failure: Failure::Check,
                        message: "no rows".into(),
                    },
                ),
            ],
        }
    }

    #[test]
    fn an_overview_shows_how_runs_ended() {
        let running = LoggedRun {
            number: 1,
            finished: None,
            end: None,
            ..failed_run()
        };
        let text = overview(&[failed_run(), running]).render();
        let rows: Vec<Vec<&str>> = text
            .lines()
            .skip(1)
            .map(|line| {
                line.split("  ")
                    .map(str::trim)
                    .filter(|cell| !cell.is_empty())
                    .collect()
            })
            .collect();
        assert_eq!(rows[0][2..], ["2 s", "failed", "1", "3", "1", "a, b"]);
        assert_eq!(rows[1][2..], ["-", "not ended", "1", "-", "1", "a, b"]);
    }

    #[test]
    fn the_log_of_a_run_shows_steps_and_other_failures() {
        assert_eq!(
            steps(&[failed_run()]).render(),
            "run  step     kind    time  why        result\n  \
             0  b                                 cannot be prepared: no pipeline\n  \
             0  the run                           failed: disk full\n  \
             0  a/t      csv   0.03 s  first run  done\n  \
             0  a/u      csv           first run  failed: no rows\n"
        );
    }
}
