//! `prep cache verify --rerun`: runs steps again and compares their results with the cache.

use std::path::PathBuf;

use clap::Args;
use prep_app::{Difference, Rerun, RerunPlace, RerunResult, RerunStep};
use prep_core::units;
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt;
use crate::options::PreparationArgs;
use crate::remote::RemoteArgs;
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Options of `--rerun`.
#[derive(Debug, Args)]
pub struct RerunArgs {
    /// Run the steps of competitions again, and compare the results
    #[arg(long)]
    pub rerun: bool,
    /// Directory for the results of a rerun [default: in the cache]
    #[arg(long, value_name = "DIR", requires = "rerun")]
    scratch: Option<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    preparation: PreparationArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

impl RerunArgs {
    /// Checks that no competition is selected, because a selection has an effect only with `--rerun`.
    ///
    /// # Errors
    /// Returns an error if a competition is selected.
    pub fn reject_selection(&self) -> Result<(), CliError> {
        match self.selection.is_empty() {
            true => Ok(()),
            false => Err(
                CliError::usage("competitions can only be selected with --rerun")
                    .help("without --rerun, the entire cache is verified"),
            ),
        }
    }

    pub fn call(&self, session: &CliSession) -> VerbResult {
        let session = &session.linked(&self.remote)?;
        let task = session.local_task(&self.preparation)?;
        let prepared = || Ok(prep_app::prepared_ids(&task.catalog, &task.data_dir())?);
        let ids = self.selection.ids_or(session, prepared)?;
        let scratch = match &self.scratch {
            Some(directory) => directory.clone(),
            None => session.settings.temp_dir(),
        };
        let (_watching, cancel) = interrupt::watched(&session.printer)?;
        let done = |rerun: &Rerun| session.printer.message(line(rerun));
        let all = prep_app::rerun(&task, &ids, &scratch, &cancel, &done)?;
        let json = || {
            json!({
                "competitions": all,
                "equal": sum(&all, is_equal),
                "differs": sum(&all, differs),
                "unrecorded": sum(&all, is_unrecorded),
                "failed": sum(&all, is_without_result),
            })
        };
        session.printer.show(json, || text(&all))?;
        Ok(exit(&all))
    }
}

fn is_equal(result: &RerunResult) -> bool {
    *result == RerunResult::Equal
}

fn differs(result: &RerunResult) -> bool {
    matches!(result, RerunResult::Differs { .. })
}

fn is_unrecorded(result: &RerunResult) -> bool {
    *result == RerunResult::Unrecorded
}

fn is_without_result(result: &RerunResult) -> bool {
    matches!(
        result,
        RerunResult::Failed { .. } | RerunResult::Skipped { .. }
    )
}

fn sum(all: &[Rerun], wanted: fn(&RerunResult) -> bool) -> usize {
    all.iter().map(|rerun| rerun.count(wanted)).sum()
}

/// Summarizes the rerun of a competition, for example `spaceship-titanic: 14 steps equal, 1 differs`.
fn line(rerun: &Rerun) -> String {
    let steps = |wanted: fn(&RerunResult) -> bool| rerun.count(wanted);
    let mut text = format!(
        "{}: {} equal",
        rerun.id,
        units::count(steps(is_equal) as u64, "step")
    );
    for (count, state) in [
        (steps(differs), "differ"),
        (steps(is_unrecorded), "not in the cache"),
        (steps(is_without_result), "could not run"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {state}"));
        }
    }
    text
}

/// Lists all steps whose results are not equal, and the totals.
fn text(all: &[Rerun]) -> String {
    let mut text = String::new();
    for rerun in all {
        for step in &rerun.steps {
            text.push_str(&step_text(&rerun.id, step));
        }
    }
    let differing = sum(all, differs);
    let compared = sum(all, is_equal) + differing;
    text.push_str(&format!(
        "{} compared, {differing} differ\n",
        units::count(compared as u64, "step")
    ));
    text
}

fn step_text(id: &str, step: &RerunStep) -> String {
    let name = format!("{id}/{}", step.step);
    match &step.result {
        RerunResult::Equal => String::new(),
        RerunResult::Differs { differences } => {
            let lines = differences
                .iter()
                .map(|difference| difference_text(&name, difference));
            lines.collect()
        }
        RerunResult::Unrecorded => format!("not in the cache: {name}\n"),
        RerunResult::Failed { message, .. } => format!("could not run: {name}: {message}\n"),
        RerunResult::Skipped { because } => {
            format!("could not run: {name}, because `{because}` did not run\n")
        }
    }
}

fn difference_text(name: &str, difference: &Difference) -> String {
    let place = match difference.recorded_in {
        RerunPlace::Cache => "cache",
        RerunPlace::Remote => "remote",
    };
    let digest = |digest: Option<prep_cache::Digest>| {
        digest.map_or_else(|| "nothing".to_owned(), |digest| digest.to_string())
    };
    format!(
        "differs: {name}: output `{}`: {place} {}, rerun {}\n",
        difference.output,
        digest(difference.recorded),
        digest(difference.made)
    )
}

/// Returns the exit code. A difference takes precedence over steps that could not run.
fn exit(all: &[Rerun]) -> Exit {
    if sum(all, differs) > 0 {
        return Exit::No;
    }
    let steps = all.iter().flat_map(|rerun| &rerun.steps);
    Exit::combine(steps.filter_map(|step| match &step.result {
        RerunResult::Failed { failure, .. } => Some(Exit::from_failure(*failure)),
        _ => None,
    }))
}
