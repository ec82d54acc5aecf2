//! `prep run`: prepares competitions.

use std::path::PathBuf;

use clap::Args;
use prep_app::{Catalog, Options, Preparation, Run, Task};
use prep_core::Cancel;
use prep_fetch::LazyNetwork;

use crate::downloads::{self, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::options::{Conduct, How};
use crate::output::progress::Display;
use crate::output::{summary, timings};
use crate::select::Selection;
use crate::{Ended, Session, interrupt};

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

Bundles are ID.zip or ID/ID.zip in --source or in the data folder; what is in neither is downloaded
from Kaggle to DATA/ID/ID.zip. Credentials are those of Kaggle's own tools: KAGGLE_USERNAME and
KAGGLE_KEY, KAGGLE_API_TOKEN, ~/.kaggle/kaggle.json or ~/.kaggle/access_token. Outputs go to
DATA/ID/prepared.";

impl RunArgs {
    pub fn call(&self, session: &Session) -> Ended {
        if self.dry_run {
            return super::plan::show(session, &self.selection, &self.how, &self.conduct);
        }
        let ids = self.selection.ids()?;
        let catalog = Catalog::of(&session.settings)?;
        let purpose = match self.how.no_download {
            true => Purpose::Nothing,
            false => Purpose::Download,
        };
        let network = downloads::network(session, &self.conduct.limits, purpose);
        let options = self.how.options(&self.conduct);
        let preparation = prepare(session, &catalog, &ids, &options, &network)?;
        summary::show(session, &preparation)?;
        if let Some(trace) = &self.timings {
            timings::show(session, &preparation.timings, trace.as_deref())?;
        }
        Ok(exit(&preparation))
    }
}

/// Brings competitions up to date, shows how far it is, and stops at signals.
pub fn prepare(
    session: &Session,
    catalog: &Catalog,
    ids: &[String],
    options: &Options,
    network: &LazyNetwork,
) -> Result<Preparation, CliError> {
    let task = Task {
        settings: &session.settings,
        catalog,
        options,
        network,
    };
    let cancel = Cancel::default();
    let run = Run::begin(&task, ids, &cancel, &|note| session.printer.note(&note))?;
    let display = Display::new(&session.printer, &run.plan.work());
    let notice = display.notice();
    prep_app::runtime()?.block_on(async {
        interrupt::watch(cancel, move || {
            notice("stopping; press Ctrl-C again to end at once")
        })?;
        Ok(run.execute(display.reporter()).await?)
    })
}

/// The code of all endings together.
pub fn exit(preparation: &Preparation) -> Exit {
    match preparation.interrupted {
        true => Exit::Interrupted,
        false => Exit::combine(preparation.summaries.iter().map(summary::exit)),
    }
}
