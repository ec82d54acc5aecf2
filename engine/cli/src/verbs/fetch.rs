//! `prep fetch`: bundles, without preparing anything.

use std::path::PathBuf;

use clap::Args;
use prep_app::{Catalog, Options, Task};
use prep_core::Cancel;
use serde_json::json;

use crate::downloads::{self, Limits, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::select::Selection;
use crate::{Ended, Session, interrupt};

/// Download the bundles of competitions, and prepare nothing
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep fetch spaceship-titanic
  prep fetch --lite --max-rate 20MB

A bundle that is already there is checked, not fetched again. Shows where each one is.")]
pub struct Fetch {
    #[command(flatten)]
    selection: Selection,
    /// Folder with bundles that are there already: DIR/ID.zip or DIR/ID/ID.zip
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// Accept a bundle with another MD5 than the published one
    #[arg(long)]
    skip_bundle_verification: bool,
    #[command(flatten)]
    limits: Limits,
}

impl Fetch {
    pub fn call(&self, session: &Session) -> Ended {
        let ids = self.selection.ids()?;
        let catalog = Catalog::of(&session.settings)?;
        for id in &ids {
            catalog.get(id)?;
        }
        let network = downloads::network(session, &self.limits, Purpose::Download);
        let options = Options {
            source: self.source.clone(),
            check_bundle: !self.skip_bundle_verification,
            ..Options::default()
        };
        let task = Task {
            settings: &session.settings,
            catalog: &catalog,
            options: &options,
            network: &network,
        };
        let cancel = Cancel::default();
        let printer = session.printer.clone();
        let runtime = prep_app::runtime()?;
        {
            let _inside = runtime.enter();
            interrupt::watch(cancel.clone(), move || {
                printer.message("stopping; press Ctrl-C again to end at once");
            })?;
        }
        let mut exits = Vec::new();
        let mut found = Vec::new();
        for id in &ids {
            match prep_app::fetch(&task, id, &cancel) {
                Ok(path) => {
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
