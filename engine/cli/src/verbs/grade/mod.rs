//! `prep grade`: grades submissions of one or many competitions, and shows the scores that earn medals.
//!
//! ```text
//! one         ID SUBMISSION.csv                 many    SUBMISSIONS.jsonl
//! thresholds  ID, or --leaderboard FILE         runs    directories of runs
//! ```

mod many;
mod one;
mod runs;
mod thresholds;

use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::Catalog;

use crate::error::CliError;
use crate::options::{GivenArgs, LogArgs, VariantArg};
use crate::session::{CliSession, VerbResult};

/// Grade a submission, a list of them, or directories of runs
#[derive(Debug, Args)]
#[command(override_usage = USAGE, after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub struct GradeArgs {
    /// ID and SUBMISSION.csv, a list SUBMISSIONS.jsonl, directories of runs, or an ID
    #[arg(value_name = "WHAT", required_unless_present = "leaderboard")]
    operands: Vec<PathBuf>,
    /// Directory for the report; with --list, the file for the list
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Show the medal of a score instead of grading a submission
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    score: Option<f64>,
    /// List the submissions of directories of runs; grade nothing
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    given: GivenArgs,
    #[command(flatten)]
    places: runs::PlacesArgs,
    #[command(flatten)]
    variant: VariantArg,
    #[command(flatten)]
    log: LogArgs,
}

const USAGE: &str = "\
prep grade [OPTIONS] ID SUBMISSION.csv
       prep grade [OPTIONS] SUBMISSIONS.jsonl --output DIR
       prep grade [OPTIONS] RUNS_DIR... (--output DIR | --list)
       prep grade [OPTIONS] ID [--score SCORE]";

/// The examples. This is a macro so that two constants can contain the text.
macro_rules! examples {
    () => {
        "Examples:
  prep grade spaceship-titanic submission.csv
  prep grade submissions.jsonl -o reports
  prep grade runs/2026-01-01T00-00-00-GMT_run-group_my-agent -o reports
  prep grade spaceship-titanic                  the scores that earn medals
  prep grade spaceship-titanic --score 0.81     the medal of a score"
    };
}

const EXAMPLES: &str = examples!();
const LONG_EXAMPLES: &str = concat!(
    examples!(),
    "

A line of a list is a JSON object: {\"competition_id\": \"ID\", \"submission_path\": \"PATH\"}. If an entry cannot be \
graded, for example because its competition is not prepared, the report lists it under `not_graded`, and the other \
entries are graded.

A run is a directory ID_anything with submission/submission.csv. The metadata.json of a group names its runs. Without \
that file, the runs are its directories ID_anything. The list is written to DIR/submissions.jsonl.

The exit code is 1 if a single submission is not valid. In a list, an invalid submission is a result with the score null."
);

impl GradeArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let catalog = session.catalog()?;
        let is_known = |path: &PathBuf| catalog.find(&path.to_string_lossy()).is_some();
        match self.operands.as_slice() {
            [] => thresholds::show(session, &catalog, None, self),
            [id] if is_known(id) => thresholds::show(session, &catalog, Some(&name(id)), self),
            paths if paths.iter().all(|path| runs::is_runs_directory(path)) => {
                runs::grade(session, &catalog, paths, self)
            }
            [list] if list.is_file() => many::grade(session, &catalog, list, self),
            [id] => Err(unknown(&catalog, id)),
            [id, submission] if !is_known(id) && is_known(submission) => {
                Err(CliError::swapped(id, submission))
            }
            [id, submission] => one::grade(session, &catalog, &name(id), submission, self),
            _ => Err(CliError::usage("expected an id and one submission")
                .help("write many submissions into a list, one JSON object per line")),
        }
    }

    /// Returns the directory for the report of a list.
    fn output_dir(&self) -> Result<&Path, CliError> {
        self.output.as_deref().ok_or_else(|| {
            CliError::usage("no directory for the report").help("name one with --output DIR")
        })
    }
}

fn name(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns the error for an operand that is neither a competition nor a file.
fn unknown(catalog: &Catalog, word: &Path) -> CliError {
    match catalog.get(&name(word)) {
        Err(error) if word.extension().is_none() => error.into(),
        _ => CliError::new(
            crate::exit::Exit::Input,
            format!("there is no file `{}`", word.display()),
        ),
    }
}
