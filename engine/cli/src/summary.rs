//! What a run came to, competition by competition.

use std::time::Duration;

use prep_core::{Failure, Graph, NodeId, RunReport, StepOutcome};
use serde::Serialize;

use crate::assemble::Verification;
use crate::error::{CliError, for_people};
use crate::exit::Exit;
use crate::table::{Align, Table};
use crate::units;

/// How a competition ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Something ran, and the data folder is complete.
    Prepared,
    /// Nothing had to run.
    UpToDate,
    Failed,
    /// Stopped by the user, or left out after another one's failure.
    Stopped,
}

/// Outputs against the published checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Checksums {
    Ok,
    Differ,
    NotPublished,
    NotChecked,
}

/// A step that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepFailure {
    /// None: the competition as a whole could not be planned.
    pub step: Option<String>,
    pub failure: Failure,
    /// The cause first.
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// One competition of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub id: String,
    pub variant: String,
    pub state: State,
    /// Of the data folder, once it is complete.
    pub files: Option<u64>,
    pub bytes: Option<u64>,
    pub seconds: f64,
    pub steps_run: usize,
    pub steps_reused: usize,
    pub checksums: Checksums,
    /// What could not be checked since only a part of the bundle was downloaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<String>,
    pub failures: Vec<StepFailure>,
}

impl Summary {
    /// Reads off how the steps of competition `id` ended. Files and bytes are the caller's to add.
    pub fn of(
        graph: &Graph,
        nodes: &[NodeId],
        report: &RunReport,
        id: &str,
        variant: &str,
        verification: Verification,
    ) -> Summary {
        let outcomes = || {
            nodes
                .iter()
                .filter_map(|node| Some((graph.node(*node), report.outcomes.get(node)?)))
        };
        let count = |wanted: fn(&StepOutcome) -> bool| {
            outcomes().filter(|(_, outcome)| wanted(outcome)).count()
        };
        let steps_run = count(|outcome| matches!(outcome, StepOutcome::Done { .. }));
        let steps_reused = count(|outcome| matches!(outcome, StepOutcome::Reused));
        let mut differ = false;
        let mut failures: Vec<StepFailure> = outcomes()
            .filter_map(|(node, outcome)| {
                let StepOutcome::Failed { failure, message } = outcome else {
                    return None;
                };
                differ |= *failure == Failure::Check
                    && matches!(node.action.kind(), "checksum" | "bundle");
                let step = Some(node.name.clone());
                Some(StepFailure {
                    step,
                    failure: *failure,
                    message: for_people(message),
                    help: None,
                })
            })
            .collect();
        failures.sort_by(|a, b| a.step.cmp(&b.step));
        let state = match steps_run {
            _ if !failures.is_empty() => State::Failed,
            _ if steps_run + steps_reused < nodes.len() => State::Stopped,
            0 => State::UpToDate,
            _ => State::Prepared,
        };
        let complete = matches!(state, State::Prepared | State::UpToDate);
        let checksums = match verification {
            _ if differ => Checksums::Differ,
            Verification::Checked if complete => Checksums::Ok,
            Verification::NotPublished => Checksums::NotPublished,
            Verification::Checked | Verification::Skipped => Checksums::NotChecked,
        };
        Summary {
            id: id.to_owned(),
            variant: variant.to_owned(),
            state,
            files: None,
            bytes: None,
            seconds: 0.0,
            steps_run,
            steps_reused,
            checksums,
            unverified: Vec::new(),
            failures,
        }
    }

    /// Whether everything is prepared.
    pub fn is_complete(&self) -> bool {
        matches!(self.state, State::Prepared | State::UpToDate)
    }

    /// Names what the bundle's MD5 would have vouched for: the bundle, and outputs without a checksum of their own.
    pub fn fetched_in_part(&mut self, without_checksum: &[String]) {
        self.unverified = vec!["the bundle's MD5".to_owned()];
        self.unverified.extend(without_checksum.iter().cloned());
    }

    /// A competition that could not be planned.
    pub fn refused(id: &str, variant: &str, error: &CliError) -> Summary {
        let failure = match error.exit {
            Exit::Input => Failure::Input,
            Exit::Machine => Failure::Machine,
            _ => Failure::Pipeline,
        };
        let failure = StepFailure {
            step: None,
            failure,
            message: error.to_string(),
            help: error.help.clone(),
        };
        Summary {
            id: id.to_owned(),
            variant: variant.to_owned(),
            state: State::Failed,
            files: None,
            bytes: None,
            seconds: 0.0,
            steps_run: 0,
            steps_reused: 0,
            checksums: Checksums::NotChecked,
            unverified: Vec::new(),
            failures: vec![failure],
        }
    }

    /// The exit code that this competition asks for.
    pub fn exit(&self) -> Exit {
        Exit::combine(
            self.failures
                .iter()
                .map(|failure| Exit::of(failure.failure)),
        )
    }
}

/// The table at the end of a run.
pub fn table(summaries: &[Summary]) -> String {
    let mut table = Table::new(&[
        ("competition", Align::Left),
        ("files", Align::Right),
        ("size", Align::Right),
        ("time", Align::Right),
        ("run", Align::Right),
        ("reused", Align::Right),
        ("checksums", Align::Left),
        ("state", Align::Left),
    ]);
    for one in summaries {
        let known = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        table.row(vec![
            one.id.clone(),
            known(one.files.map(|files| files.to_string())),
            known(one.bytes.map(units::bytes)),
            units::duration(Duration::from_secs_f64(one.seconds)),
            one.steps_run.to_string(),
            one.steps_reused.to_string(),
            one.checksums.text().to_owned(),
            one.state.text().to_owned(),
        ]);
    }
    table.render()
}

impl Checksums {
    fn text(self) -> &'static str {
        match self {
            Checksums::Ok => "ok",
            Checksums::Differ => "differ",
            Checksums::NotPublished => "not published",
            Checksums::NotChecked => "not checked",
        }
    }
}

impl State {
    fn text(self) -> &'static str {
        match self {
            State::Prepared => "prepared",
            State::UpToDate => "up to date",
            State::Failed => "failed",
            State::Stopped => "stopped",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_competition_is_a_row_and_an_exit_code() {
        let error = CliError::new(Exit::Pipeline, "no pipeline yet").help("wait");
        let mut done = Summary::refused("a", "v1", &error);
        done.failures.clear();
        done.state = State::Prepared;
        done.checksums = Checksums::Ok;
        (done.files, done.bytes, done.seconds, done.steps_run) = (Some(3), Some(1_200_000), 2.5, 7);
        let refused = Summary::refused("long-name", "v1", &error);
        assert_eq!(
            (done.exit(), refused.exit()),
            (Exit::Success, Exit::Pipeline)
        );
        assert_eq!(
            table(&[done, refused]),
            "competition  files     size    time  run  reused  checksums    state\n\
             a                3  1.20 MB  2.50 s    7       0  ok           prepared\n\
             long-name        -        -  0.00 s    0       0  not checked  failed\n"
        );
    }
}
