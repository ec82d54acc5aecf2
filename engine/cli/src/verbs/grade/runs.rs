//! `prep grade RUNS_DIR...`: grades the submissions in directories of runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{Catalog, Error};
use prep_core::units;
use prep_experiments::ListPlaces;

use super::{GradeArgs, many};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::file::write_atomically;
use crate::session::{CliSession, VerbResult};

/// Paths of files, relative to the directory of a run.
#[derive(Debug, Clone, Args)]
pub struct PlacesArgs {
    /// Path of the submission in the directory of a run
    #[arg(long = "submission-path", value_name = "PATH", default_value = "submission/submission.csv", help_heading = HEADING)]
    submission: PathBuf,
    /// Path of the agent's log in the directory of a run
    #[arg(long = "logs-path", value_name = "PATH", default_value = "logs/agent.log", help_heading = HEADING)]
    logs: PathBuf,
    /// Path of the agent's code in the directory of a run
    #[arg(long = "code-path", value_name = "PATH", default_value = "code/train.py", help_heading = HEADING)]
    code: PathBuf,
}

const HEADING: &str = "Runs";

/// File name of the list of submissions, in the directory of the report.
const LIST: &str = "submissions.jsonl";

/// Returns whether a path is a directory of runs, or the file `metadata.json` of such a directory.
pub fn is_runs_directory(path: &Path) -> bool {
    path.is_dir() || path.file_name().is_some_and(|name| name == "metadata.json")
}

pub fn grade(
    session: &CliSession,
    catalog: &Catalog,
    runs: &[PathBuf],
    args: &GradeArgs,
) -> VerbResult {
    let text = list(session, catalog, runs, &args.places)?;
    if args.list {
        match &args.output {
            None => session.printer.result(&text)?,
            Some(path) => write_atomically(path, |out| out.write_all(text.as_bytes()))?,
        }
        return Ok(Exit::Success);
    }
    let directory = args.output_dir()?;
    std::fs::create_dir_all(directory)
        .map_err(|error| Error::writing("create the directory", directory, &error))?;
    let list = directory.join(LIST);
    write_atomically(&list, |out| out.write_all(text.as_bytes()))?;
    many::grade(session, catalog, &list, args)
}

/// Returns the list of submissions as JSON Lines.
fn list(
    session: &CliSession,
    catalog: &Catalog,
    paths: &[PathBuf],
    args: &PlacesArgs,
) -> Result<String, CliError> {
    let places = ListPlaces {
        submission: args.submission.clone(),
        logs: args.logs.clone(),
        code: args.code.clone(),
    };
    let mut text = String::new();
    let mut unknown = BTreeSet::new();
    let (mut runs, mut missing) = (0, 0);
    for path in paths {
        for entry in prep_experiments::list(path, &places).map_err(CliError::of_experiments)? {
            runs += 1;
            missing += usize::from(entry.submission_path.is_none());
            if catalog.find(&entry.competition_id).is_none() {
                unknown.insert(entry.competition_id.clone());
            }
            text.push_str(&entry.line());
            text.push('\n');
        }
    }
    let unknown: Vec<String> = unknown
        .iter()
        .map(|id| {
            format!("there is no competition `{id}`; a directory of runs must contain directories named ID_anything")
        })
        .collect();
    session.printer.warnings(&unknown);
    session.printer.message(format!(
        "{}, {missing} of them without a submission",
        units::count(runs, "run")
    ));
    Ok(text)
}
