//! `prep submissions`: the list for `prep grade` from folders of runs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use prep_core::units;
use prep_experiments::Places;

use crate::exit::Exit;
use crate::output::file::write_whole;
use crate::session::{Ended, Session};

use super::experiments::failed;

/// Make the list of submissions for `prep grade` from folders of runs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep submissions runs/2026-01-01T00-00-00-GMT_run-group_my-agent -o submissions.jsonl
  prep submissions runs/*_my-agent/metadata.json > submissions.jsonl

A run is a folder ID_anything with submission/submission.csv. The runs of a group are those that its \
metadata.json names; without that file, its folders ID_anything.")]
pub struct Submissions {
    /// A folder of runs, or its metadata.json
    #[arg(value_name = "RUNS", required = true)]
    runs: Vec<PathBuf>,
    /// Where to write the list [default: stdout]
    #[arg(long, short, value_name = "FILE.jsonl")]
    output: Option<PathBuf>,
    /// The submission, below a run's folder
    #[arg(long, value_name = "PATH", default_value = "submission/submission.csv")]
    submission: PathBuf,
    /// The agent's log, below a run's folder
    #[arg(long, value_name = "PATH", default_value = "logs/agent.log")]
    logs: PathBuf,
    /// The agent's code, below a run's folder
    #[arg(long, value_name = "PATH", default_value = "code/train.py")]
    code: PathBuf,
}

impl Submissions {
    pub fn call(&self, session: &Session) -> Ended {
        let places = Places {
            submission: self.submission.clone(),
            logs: self.logs.clone(),
            code: self.code.clone(),
        };
        let mut text = String::new();
        let catalog = session.catalog()?;
        let mut unknown = BTreeSet::new();
        let (mut runs, mut missing) = (0, 0);
        for path in &self.runs {
            for entry in prep_experiments::list(path, &places).map_err(failed)? {
                runs += 1;
                missing += usize::from(entry.submission_path.is_none());
                if catalog.find(&entry.competition_id).is_none() {
                    unknown.insert(entry.competition_id.clone());
                }
                text.push_str(&entry.line());
                text.push('\n');
            }
        }
        match &self.output {
            None => session.printer.result(&text)?,
            Some(path) => write_whole(path, |out| out.write_all(text.as_bytes()))?,
        }
        for id in unknown {
            session.printer.warning(format!(
                "there is no competition `{id}`: RUNS is a folder in which runs lie, as ID_anything"
            ));
        }
        session.printer.message(format!(
            "{}, {missing} of them without a submission",
            units::count(runs, "run")
        ));
        Ok(Exit::Success)
    }
}
