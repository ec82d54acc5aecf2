//! `prep run`: prepares competitions.

use std::path::PathBuf;

use clap::Args;
use prep_app::{LinkMode, PreparationOptions, RememberedOptions};

use crate::global::link_mode;
use crate::options::PreparationArgs;
use crate::output::{plan, summary};
use crate::remote::RemoteArgs;
use crate::request::{DownloadLimits, Purpose};
use crate::select::{Selection, UnitArg};
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
    /// Prepare the other competitions if a bundle is missing and no credentials exist
    ///
    /// Without this option, `prep` reports all missing bundles in one error and prepares nothing.
    #[arg(long, conflicts_with = "fail_fast", hide_short_help = true)]
    keep_going: bool,
    /// Publish only what DATA/prep.lock lists
    ///
    /// The run fails if public files, answers, leaderboard or rules do not match the lock file.
    #[arg(long)]
    locked: bool,
    /// How files share bytes with the cache: hardlink, reflink, copy
    ///
    /// `hardlink`: published files are hard links to the cache where possible. `reflink`: they share blocks with the
    /// cache until either file is written, if the file system supports it. `copy`: they share nothing. Use `copy` for
    /// directories that a container may write.
    #[arg(long, value_name = "MODE", value_parser = link_mode(), hide_possible_values = true)]
    link_mode: Option<LinkMode>,
    /// Publish your own descriptions: DIR/ID.md or DIR/ID/description.md
    ///
    /// A checkout of upstream contains these files in mlebench/competitions.
    #[arg(long, value_name = "DIR", help_heading = "Preparation")]
    descriptions: Option<PathBuf>,
    /// Remove files in DATA/ID/prepared that no run published
    ///
    /// Without this option they stay, for example archives that you unpacked there.
    #[arg(long)]
    remove_unpublished: bool,
    /// Write the plain answers of sealed competitions again
    ///
    /// Without this option, a run does not prepare a competition whose answers `prep seal` encrypted.
    #[arg(long)]
    unseal: bool,
    /// Print the slowest steps with their time, memory and waiting time
    ///
    /// --json prints the figures of all steps that ran.
    #[arg(long)]
    timings: bool,
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

/// A macro, so that two constants can contain the examples.
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
        let given = RememberedOptions {
            link_mode: self.link_mode,
            descriptions: self.descriptions.clone(),
            ..RememberedOptions::default()
        };
        let options = PreparationOptions {
            locked: self.locked,
            remove_unpublished: self.remove_unpublished,
            unseal: self.unseal,
            available_only: self.available,
            download: downloads,
            keep_going: !self.fail_fast,
            starts_without_credentials: self.keep_going,
            keep_bundles: !self.discard_bundle,
            ..self.preparation.options_with(session, given)
        };
        let ids = self.selection.ids(session)?;
        let purpose = match (downloads, self.dry_run) {
            (false, _) => Purpose::Unused,
            (true, true) => Purpose::Request,
            (true, false) => Purpose::Download,
        };
        let task = session.task(options, &self.limits, purpose)?;
        let ids = self.unit.part(session, &task.catalog, ids)?;
        if self.dry_run {
            return plan::show(&session.printer, &task, &ids);
        }
        let preparation = session.prepare(&task, &ids, false)?;
        summary::show(&session.printer, &preparation, Vec::new())?;
        if self.timings {
            summary::show_timings(&session.printer, &preparation.timings);
        }
        Ok(summary::exit(&preparation))
    }
}
