//! `prep run`: prepares competitions.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use clap::Args;
use prep_app::{Catalog, LinkMode, Preparation, PreparationOptions, Run, Task, Unit};
use prep_core::{Cancel, units};

use crate::downloads::{DownloadLimits, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt;
use crate::options::{LinkModeArg, PreparationArgs};
use crate::output::aside::Notice;
use crate::output::progress::Display;
use crate::output::{summary, timings};
use crate::remote::RemoteArgs;
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Prepare competitions (only what changed runs)
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub struct RunArgs {
    #[command(flatten)]
    selection: Selection,
    /// Show what would run and write nothing, the same as `prep plan`
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Start no further step once a competition has failed
    #[arg(long)]
    fail_fast: bool,
    /// Publish only what DATA/prep.lock lists
    ///
    /// The run fails if files, answers, leaderboard or rules differ from those of the lock file.
    #[arg(long)]
    locked: bool,
    /// How files share bytes with the cache: hardlink, reflink, copy
    ///
    /// `hardlink`: published files are hard links to the cache where possible. `reflink`: they share blocks with the
    /// cache until either file is written, if the file system supports it. `copy`: they share nothing. Use `copy` for
    /// directories that a container may write.
    #[arg(long, value_name = "MODE", hide_possible_values = true)]
    link_mode: Option<LinkModeArg>,
    /// Publish your own descriptions: DIR/ID.md or DIR/ID/description.md
    ///
    /// A checkout of upstream has them in mlebench/competitions.
    #[arg(long, value_name = "DIR", help_heading = "Preparation")]
    descriptions: Option<PathBuf>,
    /// Remove files in DATA/ID/prepared that no run published
    ///
    /// Without this option they stay, for example archives that you unpacked there.
    #[arg(long)]
    remove_unpublished: bool,
    /// Print the slowest steps; with FILE, also write a trace of all steps
    ///
    /// Perfetto and chrome://tracing open the trace.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    timings: Option<Option<PathBuf>>,
    #[command(flatten)]
    unit: UnitArg,
    #[command(flatten)]
    preparation: PreparationArgs,
    /// Download nothing; a missing bundle is an error
    #[arg(long, help_heading = DOWNLOADS)]
    no_download: bool,
    /// Download nothing; prepare the competitions whose bundles you have
    #[arg(long, help_heading = DOWNLOADS)]
    available: bool,
    /// Delete a downloaded bundle once its competition is prepared
    ///
    /// This deletes DATA/ID/ID.zip and DATA/ID/sources. They are downloaded again if a step needs them.
    #[arg(long, help_heading = DOWNLOADS)]
    discard_bundle: bool,
    #[command(flatten)]
    limits: DownloadLimits,
    #[command(flatten)]
    remote: RemoteArgs,
}

const DOWNLOADS: &str = "Downloads";

/// The part of the selection that this process handles.
#[derive(Debug, Default, Clone, Args)]
pub struct UnitArg {
    /// Only a part of the selection: I/N, or N in a job array
    ///
    /// Slurm, Kubernetes and AWS Batch set the number of a job. The parts are balanced by the size of the bundles.
    #[arg(long, value_name = "UNIT", help_heading = "Competitions")]
    unit: Option<Unit>,
}

/// The examples. This is a macro so that two constants can contain the text.
macro_rules! examples {
    () => {
        "Examples:
  prep run spaceship-titanic
  prep run --lite --source ~/bundles --no-download
  prep run --set scored --partial --discard-bundle --max-rate 20MB
  prep run --set dev --variant fixed --json"
    };
}

const EXAMPLES: &str = examples!();
const LONG_EXAMPLES: &str = concat!(
    examples!(),
    "

A bundle is ID.zip or ID/ID.zip in --source or in the data directory. If it is in neither, prep downloads it
from Kaggle to DATA/ID/ID.zip. It uses the credentials of Kaggle's own tools: KAGGLE_API_TOKEN,
~/.kaggle/access_token, KAGGLE_USERNAME and KAGGLE_KEY, ~/.kaggle/kaggle.json, or the login of
`kaggle auth login`. Outputs go to DATA/ID/prepared, those of variant fixed to DATA/fixed/ID/prepared.
DATA/prep.lock lists their digests."
);

impl RunArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let session = &session.linked(&self.remote)?;
        let downloads = !self.no_download && !self.available;
        let options = PreparationOptions {
            locked: self.locked,
            remove_unpublished: self.remove_unpublished,
            link_mode: self.link_mode.map(LinkMode::from),
            descriptions: self.descriptions.clone(),
            available_only: self.available,
            download: downloads,
            keep_going: !self.fail_fast,
            keep_bundles: !self.discard_bundle,
            ..self.preparation.options()
        };
        let ids = self.selection.ids()?;
        let purpose = match (downloads, self.dry_run) {
            (false, _) => Purpose::Unused,
            (true, true) => Purpose::Request,
            (true, false) => Purpose::Download,
        };
        let task = session.task(options, &self.limits, purpose)?;
        let ids = self.unit.part(session, &task.catalog, ids)?;
        if self.dry_run {
            return super::plan::show(session, &task, &ids);
        }
        let preparation = run_task(session, &task, &ids, false)?;
        summary::show(&session.printer, &preparation)?;
        if let Some(trace) = &self.timings {
            timings::show(&session.printer, &preparation.timings, trace.as_deref())?;
        }
        Ok(exit(&preparation))
    }
}

impl UnitArg {
    /// Returns the part of the selection that this process handles.
    ///
    /// # Errors
    /// Returns an error if the number of the part cannot be determined.
    pub fn part(
        &self,
        session: &CliSession,
        catalog: &Catalog,
        ids: Vec<String>,
    ) -> Result<Vec<String>, CliError> {
        let Some(unit) = self.unit else {
            return Ok(ids);
        };
        let number = unit_number(unit, session)?;
        let selected = prep_app::unit(catalog, &ids, number, unit.of);
        let count = units::count(selected.len() as u64, "competition");
        session.printer.message(format!(
            "unit {number} of {}: {count} of {}",
            unit.of,
            ids.len()
        ));
        Ok(selected)
    }
}

/// Variables with the number of a job in its array. The second variable has the first number of the array, which is 0
/// if there is no such variable.
const ARRAY_VARIABLES: [(&str, Option<&str>); 3] = [
    ("SLURM_ARRAY_TASK_ID", Some("SLURM_ARRAY_TASK_MIN")),
    ("JOB_COMPLETION_INDEX", None),
    ("AWS_BATCH_JOB_ARRAY_INDEX", None),
];

/// Returns the number of the unit, from 1.
fn unit_number(unit: Unit, session: &CliSession) -> Result<usize, CliError> {
    if let Some(number) = unit.number {
        return Ok(number);
    }
    let number = |name: &str| session.places.text(name)?.parse::<usize>().ok();
    let found = ARRAY_VARIABLES.iter().find_map(|(index, first)| {
        let first = first.and_then(number).unwrap_or(0);
        Some((index, number(index)?.checked_sub(first)?))
    });
    match found {
        Some((_, index)) if index < unit.of => Ok(index + 1),
        Some((name, index)) => Err(CliError::usage(format!(
            "this is job {} of the array (according to {name}), but --unit has {} parts",
            index + 1,
            unit.of
        ))),
        None => Err(CliError::usage("cannot determine the number of the unit")
            .help(format!("write --unit I/{}, or start a job array", unit.of))),
    }
}

/// Runs a task, shows its progress, and stops it after a signal. With `find_only`, only checks run, and all other
/// results must exist already.
pub fn run_task(
    session: &CliSession,
    task: &Task,
    ids: &[String],
    find_only: bool,
) -> Result<Preparation, CliError> {
    let cancel = Cancel::default();
    // Signals are handled from now on, because planning may take a while. The message is printed directly, or above the
    // display as soon as it exists.
    let display_notice: Arc<OnceLock<Notice>> = Arc::default();
    let (notice, printer) = (display_notice.clone(), session.printer.clone());
    let _watching = interrupt::watch(cancel.clone(), move || match notice.get() {
        Some(notice) => notice(interrupt::STOPPING),
        None => printer.message(interrupt::STOPPING),
    })?;
    let mut run = Run::begin(task, ids, &cancel, &|note| session.printer.note(&note))?;
    if find_only {
        run.forbid_execution();
    }
    let remote = session.settings.remote.clone();
    let display = Display::new(&session.printer, &run.plan.work(), remote);
    // Does not fail, because it is set only here.
    let _ = display_notice.set(Box::new(display.notice()));
    session.printer.aside.set(Some(Box::new(display.notice())));
    let prepared = run.execute(display.reporter());
    session.printer.aside.set(None);
    Ok(prepared?)
}

/// Returns the combined exit code of all competitions.
pub fn exit(preparation: &Preparation) -> Exit {
    match preparation.interrupted {
        true => Exit::Interrupted,
        false => Exit::combine(preparation.summaries.iter().map(summary::exit)),
    }
}
