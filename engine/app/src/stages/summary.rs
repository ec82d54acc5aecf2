//! Last stage: creates one summary per competition of a run.

use std::collections::HashMap;

use prep_core::{Failure, Remedy, StepError, StepOutcome, Timing, Value};
use prep_spec::Diagnostics;
use prep_spec::model::Output;
use prep_spec::words::Produces;
use prep_steps::{LocatedError, MEMBERS_STEP, Manifest, PathSummary, PublishedOutput, TRIAL_STEP};
use serde::Serialize;
use serde_json::json;

use crate::bundles::BorrowedBundle;
use crate::error::{Error, for_people};
use crate::run_log::{RunEnd, RunResult};
use crate::sealed::AnswersState;
use crate::stages::load::{Competition, Verification};
use crate::stages::record::{RECORD_STEP, RecordErrors};
use crate::stages::run::{CompetitionState, Ended};

/// The comparison of outputs with the published checksums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Checksums {
    Ok,
    /// All match, except files whose bytes depend on the library that wrote them.
    DependsOnWriter,
    Differ,
    NotPublished,
    #[default]
    NotChecked,
}

/// The result of a run of several competitions.
pub struct Preparation {
    /// Summaries, one per competition, in the order of the request.
    pub summaries: Vec<Summary>,
    /// Competitions that could not be planned, with the reason.
    pub refused: Vec<(String, Error)>,
    /// Competitions that were left out on request, because their bundle or a source is missing.
    pub left_out: Vec<String>,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
    /// Time and resources of every step that ran, the slowest first.
    pub timings: Vec<Timing>,
}

impl Preparation {
    /// Creates the summaries of a run, in the order of `ids`. Competitions that were left out have no summary.
    ///
    /// `published` contains the manifest of each competition's published data. `refused` contains the competitions that
    /// could not be planned.
    pub(super) fn sum_up(
        ended: &Ended,
        published: &HashMap<String, Manifest>,
        refused: Vec<(String, Error)>,
        (ids, left_out): (&[String], Vec<String>),
    ) -> Preparation {
        let finished = ended.all.competitions.iter();
        let finished = finished.filter(|one| !left_out.contains(&one.id));
        let finished = finished.map(|one| Summary::of_finished(ended, one, published.get(&one.id)));
        let variant = &ended.task.options.variant;
        let failed = refused.iter();
        let failed = failed.map(|(id, error)| Summary::refused(id, variant, error));
        let mut summaries: Vec<Summary> = finished.chain(failed).collect();
        summaries.sort_by_key(|summary| ids.iter().position(|id| *id == summary.id));
        Preparation {
            summaries,
            refused,
            left_out,
            interrupted: ended.is_interrupted(),
            timings: ended.report.timings(&ended.all.graph),
        }
    }

    /// Marks competitions as failed that were prepared, but could not be recorded.
    pub(super) fn fail(&mut self, errors: &RecordErrors) {
        for summary in &mut self.summaries {
            let Some(error) = errors.get(&summary.id) else {
                continue;
            };
            summary.state = CompetitionState::Failed;
            if summary.failures.is_empty() {
                let failure = StepFailure::new(error);
                let step = Some(RECORD_STEP.to_owned());
                summary.failures.push(StepFailure { step, ..failure });
            }
        }
    }

    /// Returns how the run ended, for its log.
    pub(super) fn end(&self) -> RunEnd {
        let mut summaries = self.summaries.iter();
        RunEnd {
            reused: self
                .summaries
                .iter()
                .map(|summary| summary.steps_reused)
                .sum(),
            result: match self.interrupted {
                true => RunResult::Stopped,
                false if summaries.any(|summary| summary.state == CompetitionState::Failed) => {
                    RunResult::Failed
                }
                false => RunResult::Done,
            },
            error: None,
        }
    }
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

impl StepFailure {
    /// Returns the failure of a competition for which no step failed.
    fn new(error: &Error) -> StepFailure {
        StepFailure {
            step: None,
            failure: error.failure,
            message: error.to_string(),
            help: error.help.clone(),
            place: error.diagnostics.clone(),
        }
    }

    /// Returns the step and the first line of the message, as one line.
    pub(super) fn line(&self) -> String {
        let message = self.message.lines().next().unwrap_or_default();
        match &self.step {
            Some(step) => format!("{step}: {message}"),
            None => message.to_owned(),
        }
    }
}

/// One competition of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    pub id: String,
    pub variant: String,
    pub state: CompetitionState,
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
    /// Files whose MD5 differs from the published one. The difference is allowed, because the bytes of these files
    /// depend on the library that writes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on_writer: Vec<String>,
    /// Files and directories in the prepared directory that no run published. A run does not remove them.
    #[serde(skip_serializing_if = "PathSummary::is_empty")]
    pub unpublished: PathSummary,
    /// The bundle from which cached or remote results were computed, if this competition uses these results. It uses
    /// them only if the bundle is neither on this machine nor recorded in the data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub borrowed: Option<BorrowedBundle>,
    /// The names of the options that had the values of the last run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub as_last_time: Vec<&'static str>,
    /// The result of the trial, which grades the sample submission, the answers and an empty submission. Contains their
    /// scores and warnings, or the reason why they were not graded. `None` if there is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<serde_json::Value>,
    /// Whether `private.age` contains the private files of an earlier publication.
    #[serde(skip)]
    pub has_outdated_seal: bool,
    /// Whether the command line prints the result of the trial. It does so for pipelines that are not built in, if the
    /// trial ran in this run or has warnings.
    #[serde(skip)]
    pub shows_trial: bool,
    pub failures: Vec<StepFailure>,
}

impl Summary {
    /// Creates the summary of a competition whose steps have ended.
    fn of_finished(
        ended: &Ended,
        competition: &Competition,
        published: Option<&Manifest>,
    ) -> Summary {
        let (report, id) = (&ended.report, &competition.id);
        let failures = failures(ended, id);
        let differ = ended.outcomes_of(id).any(|(_, node, outcome)| {
            matches!(
                outcome,
                StepOutcome::Failed {
                    failure: Failure::Check,
                    ..
                }
            ) && matches!(node.action.kind(), "checksum" | "bundle" | "download")
        });
        let mut depends_on_writer: Vec<String> = ended
            .outcomes_of(id)
            .filter_map(|(id, node, _)| {
                let path = node.name.strip_prefix("checksum/")?;
                let mut outputs = report.outputs.get(&id)?.values();
                outputs
                    .any(prep_steps::is_writer_dependent)
                    .then(|| path.to_owned())
            })
            .collect();
        depends_on_writer.sort();
        let mut unverified = Vec::new();
        if competition.is_partial() {
            unverified.push("the bundle's MD5".to_owned());
            unverified.extend(competition.without_checksum());
        }
        let state = ended.state_of(id);
        let checksums = match competition.verification {
            _ if differ => Checksums::Differ,
            Verification::NotPublished => Checksums::NotPublished,
            Verification::Checked if !state.is_complete() => Checksums::NotChecked,
            Verification::Checked if depends_on_writer.is_empty() => Checksums::Ok,
            Verification::Checked => Checksums::DependsOnWriter,
            Verification::Skipped => Checksums::NotChecked,
        };
        let (steps_run, steps_reused) = ended.run_and_reused(id);
        let published = published.filter(|_| state != CompetitionState::Failed);
        let result = |step: &str| {
            ended.outcomes_of(id).find_map(|(id, node, outcome)| {
                let outputs = report.outputs.get(&id)?;
                let digest = outputs.values().next().filter(|_| node.name == step)?;
                let value = Value::load(&ended.context.store, digest).ok()?;
                let has_run = matches!(outcome, StepOutcome::Done { .. });
                Some((prep_steps::result_of(&value).clone(), has_run))
            })
        };
        let (mut trial, has_run) = result(TRIAL_STEP).unzip();
        let of_members = result(MEMBERS_STEP).map(|(warnings, _)| warnings);
        let of_members = of_members.and_then(|warnings| Some(warnings.as_array()?.clone()));
        if of_members
            .as_ref()
            .is_some_and(|warnings| !warnings.is_empty())
        {
            let skipped = || json!({ "skipped": "the trial has no result", "warnings": [] });
            trial.get_or_insert_with(skipped);
        }
        let is_own = !competition.entry.is_built_in();
        // A public output without rows or files is rarely intended.
        let is_empty = |output: &&Output| {
            let path = format!("public/{}", output.path.value);
            let stays_empty = matches!(output.declaration.form.makes, Produces::Empty);
            let mut outputs = published.iter().flat_map(|one| &one.outputs);
            let has_nothing = |one: &PublishedOutput| {
                path.ends_with('/') && one.files == 0 || one.rows == Some(0)
            };
            !stays_empty && outputs.any(|one| one.path == path && has_nothing(one))
        };
        if let Some(trial) = trial.as_mut().filter(|_| is_own)
            && let Some(warnings) = trial["warnings"].as_array_mut()
        {
            let empty = competition.pipeline.public.iter().filter(is_empty);
            let warning = |output: &Output| {
                let path = &output.path.value;
                let what = if path.ends_with('/') { "files" } else { "rows" };
                format!("`public/{path}` has no {what}")
            };
            warnings.extend(empty.map(|output| warning(output).into()));
            warnings.extend(of_members.into_iter().flatten());
        }
        let warnings = trial
            .as_ref()
            .and_then(|trial| trial["warnings"].as_array());
        let has_warnings = warnings.is_some_and(|warnings| !warnings.is_empty());
        Summary {
            id: id.clone(),
            variant: ended.task.options.variant.clone(),
            state,
            files: published.map(|published| published.files),
            bytes: published.map(|published| published.bytes),
            seconds: ended.watch.time_of(id).as_secs_f64(),
            steps_run,
            steps_reused,
            checksums,
            unverified,
            depends_on_writer,
            unpublished: published
                .map(|one| one.unpublished.clone())
                .unwrap_or_default(),
            borrowed: competition.borrowed.clone(),
            trial,
            has_outdated_seal: published.is_some()
                && AnswersState::of(&ended.task.data_dir(), id) == AnswersState::Outdated,
            shows_trial: is_own && (has_run == Some(true) || has_warnings),
            as_last_time: competition.recalled().map(|one| one.name).collect(),
            failures,
        }
    }

    /// Returns whether the competition is completely prepared.
    pub fn is_complete(&self) -> bool {
        self.state.is_complete()
    }

    /// Creates the summary of a competition that could not be planned.
    pub fn refused(id: &str, variant: &str, error: &Error) -> Summary {
        Summary {
            id: id.to_owned(),
            variant: variant.to_owned(),
            failures: vec![StepFailure::new(error)],
            ..Summary::default()
        }
    }
}

/// Returns the failed steps of a competition, sorted by name.
pub(crate) fn failures(ended: &Ended, id: &str) -> Vec<StepFailure> {
    let errors = &ended.report.errors;
    let failures = ended
        .outcomes_of(id)
        .filter_map(|(node_id, node, outcome)| {
            let StepOutcome::Failed { failure, message } = outcome else {
                return None;
            };
            let placed = errors.get(&node_id).and_then(LocatedError::find);
            Some(StepFailure {
                step: Some(node.name.clone()),
                failure: *failure,
                message: for_people(message),
                help: errors.get(&node_id).and_then(StepError::remedy),
                place: placed.map(|placed| placed.diagnostics(&format!("{id}/{}", node.name))),
            })
        });
    let mut failures: Vec<StepFailure> = failures.collect();
    failures.sort_by(|a, b| a.step.cmp(&b.step));
    failures
}
