//! `prep cache rerun`: whether steps give again what the cache holds.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use prep_app::{Difference, Place, Rerun, RerunResult, RerunStep};
use prep_core::{NullReporter, Reporter, units};
use serde_json::json;

use crate::exit::Exit;
use crate::interrupt;
use crate::options::How;
use crate::remote::RemoteArgs;
use crate::select::Selection;
use crate::session::{Ended, Session};

/// Run the steps of competitions again, and compare what they give with the cache
#[derive(Debug, Args)]
pub struct CacheRerun {
    /// Directory for the results of the rerun, which are removed [default: that of the cache for temporary files]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub const EXAMPLES: &str = "\
Examples:
  prep cache rerun
  prep cache rerun spaceship-titanic --json
  prep cache rerun --lite --memory 800MB --scratch /scratch

Without a selection, all competitions that are prepared. Their steps run with a quarter of --memory, with \
half of --jobs (2 if it is 1), and in another order. Results are compared with those that the cache, and a \
remote if there is one, have for the same key. Nothing is downloaded or published, and the cache is only read. \
Give the options with which the competitions were prepared (--source, --variant ...). The exit code is 1 if \
a result differs.";

impl CacheRerun {
    pub fn call(&self, session: &Session) -> Ended {
        let session = &session.linked(&self.remote)?;
        let task = session.local_task(&self.how)?;
        let prepared = || Ok(prep_app::prepared(&task.catalog, &task.data_dir())?);
        let ids = self.selection.ids_or(prepared)?;
        let scratch = match &self.scratch {
            Some(folder) => folder.clone(),
            None => session.settings.temp_dir(),
        };
        let (_watching, cancel) = interrupt::watched(&session.printer)?;
        let reporter: Arc<dyn Reporter> = Arc::new(NullReporter);
        let done = |one: &Rerun| session.printer.message(line(one));
        let all = prep_app::rerun(&task, &ids, &scratch, &cancel, &reporter, &done)?;
        if session.printer.json {
            session.printer.json(&json!({
                "competitions": all,
                "equal": sum(&all, is_equal),
                "differs": sum(&all, differs),
                "unrecorded": sum(&all, is_unrecorded),
                "failed": sum(&all, is_without_result),
            }))?;
        } else {
            session.printer.result(&text(&all))?;
        }
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
    all.iter().map(|one| one.count(wanted)).sum()
}

/// `spaceship-titanic: 14 steps equal, 1 differs`.
fn line(one: &Rerun) -> String {
    let steps = |wanted: fn(&RerunResult) -> bool| one.count(wanted);
    let mut text = format!(
        "{}: {} equal",
        one.id,
        units::count(steps(is_equal) as u64, "step")
    );
    for (count, what) in [
        (steps(differs), "differ"),
        (steps(is_unrecorded), "not in the cache"),
        (steps(is_without_result), "could not run"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}

/// All that is not equal, and the sums.
fn text(all: &[Rerun]) -> String {
    let mut text = String::new();
    for one in all {
        for step in &one.steps {
            text.push_str(&step_text(&one.id, step));
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
            let lines = differences.iter().map(|one| difference(&name, one));
            lines.collect()
        }
        RerunResult::Unrecorded => format!("not in the cache: {name}\n"),
        RerunResult::Failed { message, .. } => format!("could not run: {name}: {message}\n"),
        RerunResult::Skipped { because } => format!("could not run: {name}: after {because}\n"),
    }
}

fn difference(name: &str, one: &Difference) -> String {
    let place = match one.recorded_in {
        Place::Cache => "cache",
        Place::Remote => "remote",
    };
    let digest = |digest: Option<prep_cache::Digest>| {
        digest.map_or_else(|| "nothing".to_owned(), |digest| digest.to_string())
    };
    format!(
        "differs: {name}: output `{}`: {place} {}, rerun {}\n",
        one.output,
        digest(one.recorded),
        digest(one.made)
    )
}

/// A difference outweighs steps that could not run.
fn exit(all: &[Rerun]) -> Exit {
    if sum(all, differs) > 0 {
        return Exit::Failed;
    }
    let steps = all.iter().flat_map(|one| &one.steps);
    Exit::combine(steps.filter_map(|step| match &step.result {
        RerunResult::Failed { failure, .. } => Some(Exit::of(*failure)),
        _ => None,
    }))
}
