//! `prep run`: prepares competitions.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use clap::Args;
use prep_app::{Catalog, Options, Preparation, Run, Task, Unit};
use prep_core::{Cancel, units};

use crate::downloads::Purpose;
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt;
use crate::options::{Conduct, How};
use crate::output::aside::Notice;
use crate::output::progress::Display;
use crate::output::{summary, timings};
use crate::select::Selection;
use crate::session::{Ended, Session};

/// Prepare competitions: everything that is not up to date is made, nothing else
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    how: How,
    /// Show what would run, and write nothing (the same as `prep plan`)
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// End with the slowest steps: time, processor time, bytes, memory, what they waited for. With a file, all steps are
    /// written to it as a trace that Perfetto and chrome://tracing open
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    timings: Option<Option<PathBuf>>,
    /// Only a share of the selected competitions: I/N, as 3/8, or only N in a job of an array, whose number Slurm,
    /// Kubernetes or AWS Batch tell. Shares are balanced by the length of bundles, the largest first
    #[arg(long, value_name = "UNIT", help_heading = "Competitions")]
    unit: Option<Unit>,
    /// Publish nothing but what DATA/prep.lock says: the same files, answers, leaderboard and rules
    #[arg(long)]
    locked: bool,
    /// Prepare the competitions whose bundles are here, download nothing, and list the others
    #[arg(long, help_heading = "Downloads")]
    available: bool,
    #[command(flatten)]
    conduct: Conduct,
}

const EXAMPLES: &str = "\
Examples:
  prep run spaceship-titanic
  prep run --lite --source ~/bundles --no-download
  prep run --lite --partial --discard-bundle --max-rate 20MB
  prep run --set dev --variant fixed --data-dir /data/mle-bench
  prep run --list ids.txt --json > report.json
  prep run --lite --locked
  prep run --lite --available

Bundles are ID.zip or ID/ID.zip in --source or in the data folder; what is in neither is downloaded
from Kaggle to DATA/ID/ID.zip. Credentials are those of Kaggle's own tools: KAGGLE_API_TOKEN,
~/.kaggle/access_token, KAGGLE_USERNAME and KAGGLE_KEY, ~/.kaggle/kaggle.json, or the login of
`kaggle auth login`. Outputs go to
DATA/ID/prepared, those of variant fixed to DATA/fixed/ID/prepared. DATA/prep.lock says what they are.";

impl RunArgs {
    pub fn call(&self, session: &Session) -> Ended {
        if self.dry_run {
            return super::plan::show(session, &self.selection, &self.how, &self.conduct);
        }
        let session = &session.linked(&self.conduct.remote)?;
        let ids = self.selection.ids()?;
        let purpose = match self.how.no_download || self.available {
            true => Purpose::Nothing,
            false => Purpose::Download,
        };
        let options = self.how.options(&self.conduct);
        let options = Options {
            locked: self.locked,
            available_only: self.available,
            download: options.download && !self.available,
            ..options
        };
        let task = session.task(options, &self.conduct.limits, purpose)?;
        let ids = share(session, &task.catalog, ids, self.unit)?;
        let preparation = carry_out(session, &task, &ids, false)?;
        summary::show(&session.printer, &preparation)?;
        if let Some(trace) = &self.timings {
            timings::show(&session.printer, &preparation.timings, trace.as_deref())?;
        }
        Ok(exit(&preparation))
    }
}

/// A job's share of what is selected.
pub fn share(
    session: &Session,
    catalog: &Catalog,
    ids: Vec<String>,
    unit: Option<Unit>,
) -> Result<Vec<String>, CliError> {
    let Some(unit) = unit else {
        return Ok(ids);
    };
    let number = unit_number(unit, session)?;
    let mine = prep_app::unit(catalog, &ids, number, unit.of);
    let count = units::count(mine.len() as u64, "competition");
    session.printer.message(format!(
        "unit {number} of {}: {count} of {}",
        unit.of,
        ids.len()
    ));
    Ok(mine)
}

/// Variables in which schedulers number the jobs of an array, and in which they tell the first number; from 0 on else.
const ARRAYS: [(&str, Option<&str>); 3] = [
    ("SLURM_ARRAY_TASK_ID", Some("SLURM_ARRAY_TASK_MIN")),
    ("JOB_COMPLETION_INDEX", None),
    ("AWS_BATCH_JOB_ARRAY_INDEX", None),
];

/// From 1 on.
fn unit_number(unit: Unit, session: &Session) -> Result<usize, CliError> {
    if let Some(number) = unit.number {
        return Ok(number);
    }
    let number = |name: &str| session.places.text(name)?.parse::<usize>().ok();
    let told = ARRAYS.iter().find_map(|(index, first)| {
        let first = first.and_then(number).unwrap_or(0);
        Some((index, number(index)?.checked_sub(first)?))
    });
    match told {
        Some((_, index)) if index < unit.of => Ok(index + 1),
        Some((name, index)) => Err(CliError::usage(format!(
            "{name} says that this is job {} of the array, and --unit that there are {}",
            index + 1,
            unit.of
        ))),
        None => Err(CliError::usage(format!(
            "no scheduler says which of the {} units this is",
            unit.of
        ))
        .help(format!("write --unit I/{}", unit.of))),
    }
}

/// Carries out a task, shows its progress, and stops at signals. `find_only`: no step runs but checks.
pub fn carry_out(
    session: &Session,
    task: &Task,
    ids: &[String],
    find_only: bool,
) -> Result<Preparation, CliError> {
    let cancel = Cancel::default();
    // Before anything is looked at, which may take a while, and through the display once there is one.
    let shown: Arc<OnceLock<Notice>> = Arc::default();
    let (told, printer) = (shown.clone(), session.printer.clone());
    let _watching = interrupt::watch(cancel.clone(), move || match told.get() {
        Some(notice) => notice(interrupt::STOPPING),
        None => printer.message(interrupt::STOPPING),
    })?;
    let mut run = Run::begin(task, ids, &cancel, &|note| session.printer.note(&note))?;
    if find_only {
        run.find_only();
    }
    let remote = session.settings.remote.clone();
    let display = Display::new(&session.printer, &run.plan.work(), remote);
    // Nobody else sets it.
    let _ = shown.set(Box::new(display.notice()));
    session.printer.aside.set(Some(Box::new(display.notice())));
    let prepared = run.execute(display.reporter());
    session.printer.aside.set(None);
    Ok(prepared?)
}

/// The code of all endings together.
pub fn exit(preparation: &Preparation) -> Exit {
    match preparation.interrupted {
        true => Exit::Interrupted,
        false => Exit::combine(preparation.summaries.iter().map(summary::exit)),
    }
}
