//! `prep fetch`: bundles, without preparing anything.

use std::path::PathBuf;

use clap::Args;
use prep_app::{Catalog, Options, Task, Unit};
use serde_json::json;

use crate::downloads::{self, Limits, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt;
use crate::remote::RemoteArgs;
use crate::select::Selection;
use crate::session::{Ended, Session};
use crate::verbs::run::share;

/// Download the bundles of competitions, and prepare nothing
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep fetch spaceship-titanic
  prep fetch --lite --max-rate 20MB

A bundle that is already there is checked, not fetched again. Shows where each one is. With a remote, bundles go \
into its mirror, and what lies there is not fetched at all.")]
pub struct Fetch {
    #[command(flatten)]
    selection: Selection,
    /// Folder with bundles that are there already: DIR/ID.zip or DIR/ID/ID.zip
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// Accept a bundle with another MD5 than the published one
    #[arg(long)]
    skip_bundle_verification: bool,
    /// With a remote: remove the bundle here once it is in the mirror
    #[arg(long, help_heading = "Downloads")]
    discard_bundle: bool,
    /// Only a share of the selected competitions: I/N, or only N in a job of an array
    #[arg(long, value_name = "UNIT", help_heading = "Competitions")]
    unit: Option<Unit>,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    remote: RemoteArgs,
}

impl Fetch {
    pub fn call(&self, session: &Session) -> Ended {
        let session = &session.linked(&self.remote)?;
        let ids = self.selection.ids()?;
        let catalog = Catalog::of(&session.settings)?;
        let ids = share(session, &catalog, ids, self.unit)?;
        for id in &ids {
            catalog.get(id)?;
        }
        let network = downloads::network(session, &self.limits, Purpose::Download);
        let options = Options {
            source: self.source.clone(),
            check_bundle: !self.skip_bundle_verification,
            keep_bundles: !self.discard_bundle,
            ..Options::default()
        };
        let task = Task {
            settings: session.settings.clone(),
            catalog,
            options,
            network,
        };
        if session.settings.remote.is_none() {
            prep_app::require_credentials_for(&task, &ids)?;
        }
        let (_watching, cancel) = interrupt::watched(&session.printer)?;
        let mut exits = Vec::new();
        let mut found = Vec::new();
        for id in &ids {
            let fetched = match session.settings.remote {
                None => prep_app::fetch(&task, id, &cancel).map(Some),
                Some(_) => prep_app::mirror(&task, id, &cancel).map(|_| None),
            };
            match fetched {
                Ok(None) => {
                    if !session.printer.json {
                        session
                            .printer
                            .result(&format!("{id} is in the mirror\n"))?;
                    }
                    found.push(json!({ "id": id, "mirrored": true }));
                }
                Ok(Some(path)) => {
                    if !session.printer.json {
                        session.printer.result(&format!("{}\n", path.display()))?;
                    }
                    found.push(json!({ "id": id, "path": path }));
                }
                Err(error) => {
                    let mut error = CliError::from(error);
                    error.message = format!("{id}: {}", error.message);
                    session.printer.error(&error);
                    exits.push(error.exit);
                    found.push(json!({ "id": id, "error": error.message }));
                    if error.exit == Exit::Interrupted {
                        break;
                    }
                }
            }
        }
        if session.printer.json {
            session.printer.json(&json!({ "bundles": found }))?;
        }
        Ok(Exit::combine(exits))
    }
}
