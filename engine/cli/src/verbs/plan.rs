//! `prep plan`: shows the steps of a run and their reasons. Writes nothing; a missing cache is not created.

use clap::Args;
use prep_app::PreparationOptions;

use crate::downloads::{DownloadLimits, Purpose};
use crate::options::PreparationArgs;
use crate::output::plan;
use crate::remote::RemoteArgs;
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Show what `run` would do, and write nothing
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep plan --lite
  prep plan spaceship-titanic --source ~/bundles
  prep plan --all --json | jq '.competitions[] | {id, read_bytes, download}'

One competition is shown with its steps, several with a line each; -v shows the steps of all. For a missing bundle, \
prep asks Kaggle for its listing to show the size of the download, entirely and with --partial. With --no-download, \
or without credentials, it shows published sizes.")]
pub struct PlanArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    preparation: PreparationArgs,
    /// Send no request; show published sizes
    #[arg(long)]
    no_download: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

impl PlanArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let session = &session.linked(&self.remote)?;
        let options = PreparationOptions {
            download: !self.no_download,
            ..self.preparation.options(session)
        };
        let purpose = Purpose::request_unless(self.no_download);
        let task = session.task(options, &DownloadLimits::default(), purpose)?;
        plan::show(&session.printer, &task, &self.selection.ids(session)?)
    }
}
