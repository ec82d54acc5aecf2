//! `prep pull`: prepared data from the remote; nothing is made, only bytes move.

use clap::Args;
use prep_app::{Catalog, Task, remote_of};
use prep_core::units;

use super::run::{carry_out, exit};
use crate::downloads::{self, Limits, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::options::{Conduct, How};
use crate::output::summary;
use crate::remote::RemoteArgs;
use crate::select::Selection;
use crate::{Ended, Session};

/// Get prepared competitions from the remote: no step runs but checks, only bytes move
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pull --remote s3://bucket/team
  prep pull spaceship-titanic --remote s3://bucket/team

Without a selection, everything that the remote knows. What is here already does not move, so an interrupted \
pull goes on where it was. Checks and published checksums are computed here. A competition's rules are yours \
to accept, whoever downloaded its data: `prep rules` shows them.")]
pub struct Pull {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    remote: RemoteArgs,
}

impl Pull {
    pub fn call(&self, session: &Session) -> Ended {
        let session = &session.linked(&self.remote)?;
        let link = remote_of(&session.settings)?;
        let catalog = Catalog::of(&session.settings)?;
        let ids = match self.selection.is_empty() {
            true => {
                let known = link.sources().map_err(prep_app::Error::from)?;
                let known = known.into_iter().filter(|id| catalog.find(id).is_some());
                known.collect()
            }
            false => self.selection.ids()?,
        };
        if ids.is_empty() {
            let message = format!("the remote {} knows no competition", link.remote().shown());
            return Err(CliError::new(Exit::Input, message)
                .help("`prep push` on a machine where they are prepared sends them"));
        }
        session.printer.message(
            "the rules of each competition are yours to accept, whoever downloaded its data; `prep rules` shows them",
        );
        let network = downloads::network(session, &Limits::default(), Purpose::Nothing);
        let options = self.how.options(&Conduct::default());
        let task = Task {
            settings: &session.settings,
            catalog: &catalog,
            options: &options,
            network: &network,
        };
        let preparation = carry_out(session, &task, &ids, true)?;
        summary::show(session, &preparation)?;
        session.printer.message(format!(
            "{} came from the remote",
            units::bytes(link.remote().received())
        ));
        Ok(exit(&preparation))
    }
}
