//! Last stage: creates one summary per competition of a run.

use prep_core::{Failure, Remedy, StepError, StepOutcome};
use prep_spec::Diagnostics;
use prep_steps::{LocatedError, Unpublished};
use serde::Serialize;

use super::assemble::Competition;
use super::load::Verification;
use super::run::Ended;
use crate::error::{Error, for_people};

/// How a competition ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Steps ran, and the data directory is complete.
    Prepared,
    /// Nothing had to run.
    UpToDate,
    Failed,
    /// Stopped by the user, or left out because another competition failed.
    Stopped,
}

/// The comparison of outputs with the published checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Checksums {
    Ok,
    /// All match, except files whose bytes depend on the library that wrote them.
    DependsOnWriter,
    Differ,
    NotPublished,
    NotChecked,
}

/// A step that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepFailure {
    /// The name of the step. `None` if the competition could not be planned.
    pub step: Option<String>,
    pub failure: Failure,
    /// The message, which begins with the cause.
    pub message: String,
    /// The suggested action.
    #[serde(skip)]
    pub help: Option<Remedy>,
    /// The position of the mistake in the pipeline file, if the failure is caused by a mistake in it.
    #[serde(skip)]
    pub place: Option<Diagnostics>,
}

/// One competition of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub id: String,
    pub variant: String,
    pub state: State,
    /// Number of published files, if the data directory is complete.
    pub files: Option<u64>,
    /// Size of the published files, if the data directory is complete.
    pub bytes: Option<u64>,
    pub seconds: f64,
    pub steps_run: usize,
    pub steps_reused: usize,
    pub checksums: Checksums,
    /// Data that could not be verified, because only a part of the bundle was downloaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<String>,
    /// Files whose MD5 differs from the published one, which is allowed because their bytes depend on the library that
    /// writes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on_writer: Vec<String>,
    /// Files and directories in the prepared directory that no run published. A run does not remove them.
    #[serde(skip_serializing_if = "Unpublished::is_empty")]
    pub unpublished: Unpublished,
    pub failures: Vec<StepFailure>,
}

impl Summary {
    /// Creates the summary of a competition whose steps have ended. `record` adds the number and size of published
    /// files.
    pub(crate) fn of_finished(ended: &Ended, competition: &Competition) -> Summary {
        let (graph, report, id) = (&ended.graph, &ended.report, &competition.id);
        let nodes = ended.nodes_of(id);
        let outcomes = || {
            nodes
                .iter()
                .filter_map(|id| Some((*id, graph.node(*id), report.outcomes.get(id)?)))
        };
        let count = |wanted: fn(&StepOutcome) -> bool| {
            outcomes().filter(|(_, _, outcome)| wanted(outcome)).count()
        };
        let steps_run = count(|outcome| matches!(outcome, StepOutcome::Done { .. }));
        let steps_reused = count(|outcome| matches!(outcome, StepOutcome::Reused));
        let mut differ = false;
        let mut failures: Vec<StepFailure> = outcomes()
            .filter_map(|(node_id, node, outcome)| {
                let StepOutcome::Failed { failure, message } = outcome else {
                    return None;
                };
                differ |= *failure == Failure::Check
                    && matches!(node.action.kind(), "checksum" | "bundle" | "download");
                let step = Some(node.name.clone());
                let placed = report.errors.get(&node_id).and_then(LocatedError::find);
                Some(StepFailure {
                    step,
                    failure: *failure,
                    message: for_people(message),
                    help: report.errors.get(&node_id).and_then(StepError::remedy),
                    place: placed.map(|placed| placed.diagnostics(&format!("{id}/{}", node.name))),
                })
            })
            .collect();
        failures.sort_by(|a, b| a.step.cmp(&b.step));
        let mut depends_on_writer: Vec<String> = outcomes()
            .filter_map(|(id, node, _)| {
                let path = node.name.strip_prefix("checksum/")?;
                let mut outputs = report.outputs.get(&id)?.values();
                outputs
                    .any(prep_steps::is_writer_dependent)
                    .then(|| path.to_owned())
            })
            .collect();
        depends_on_writer.sort();
        let state = match steps_run {
            _ if !failures.is_empty() => State::Failed,
            _ if steps_run + steps_reused < nodes.len() => State::Stopped,
            0 => State::UpToDate,
            _ => State::Prepared,
        };
        let mut unverified = Vec::new();
        if competition.is_partial() {
            unverified.push("the bundle's MD5".to_owned());
            unverified.extend_from_slice(&competition.without_checksum);
        }
        let summary = Summary {
            seconds: ended.watch.time_of(id).as_secs_f64(),
            steps_run,
            steps_reused,
            unverified,
            depends_on_writer,
            failures,
            ..Summary::new(id, &ended.task.options.variant, state)
        };
        let checksums = match competition.verification {
            _ if differ => Checksums::Differ,
            Verification::NotPublished => Checksums::NotPublished,
            Verification::Checked if !summary.is_complete() => Checksums::NotChecked,
            Verification::Checked if summary.depends_on_writer.is_empty() => Checksums::Ok,
            Verification::Checked => Checksums::DependsOnWriter,
            Verification::Skipped => Checksums::NotChecked,
        };
        Summary {
            checksums,
            ..summary
        }
    }

    fn new(id: &str, variant: &str, state: State) -> Summary {
        Summary {
            id: id.to_owned(),
            variant: variant.to_owned(),
            state,
            files: None,
            bytes: None,
            seconds: 0.0,
            steps_run: 0,
            steps_reused: 0,
            checksums: Checksums::NotChecked,
            unverified: Vec::new(),
            depends_on_writer: Vec::new(),
            unpublished: Unpublished::default(),
            failures: Vec::new(),
        }
    }

    /// Returns whether the competition is completely prepared.
    pub fn is_complete(&self) -> bool {
        matches!(self.state, State::Prepared | State::UpToDate)
    }

    /// Creates the summary of a competition that could not be planned.
    pub fn refused(id: &str, variant: &str, error: &Error) -> Summary {
        let failure = StepFailure {
            step: None,
            failure: error.failure(),
            message: error.to_string(),
            help: error.help.clone(),
            place: error.diagnostics.clone(),
        };
        Summary {
            failures: vec![failure],
            ..Summary::new(id, variant, State::Failed)
        }
    }
}
