//! `prep pull`: prepared data from the remote; nothing is made, only bytes move.

use clap::Args;
use prep_app::remote_of;
use prep_core::units;

use super::run::{carry_out, exit};
use crate::error::CliError;
use crate::exit::Exit;
use crate::options::How;
use crate::output::summary;
use crate::remote::RemoteArgs;
use crate::select::Selection;
use crate::session::{Ended, Session};

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
        let task = session.local_task(&self.how)?;
        let ids = self.selection.ids_or(|| {
            let known = link.sources().map_err(prep_app::Error::from)?;
            let known = known.into_iter();
            Ok(known.filter(|id| task.catalog.find(id).is_some()).collect())
        })?;
        if ids.is_empty() {
            let message = format!("the remote {} knows no competition", link.remote().shown());
            return Err(CliError::new(Exit::Input, message)
                .help("`prep push` on a machine where they are prepared sends them"));
        }
        session.printer.message(
            "the rules of each competition are yours to accept, whoever downloaded its data; `prep rules` shows them",
        );
        let preparation = carry_out(session, &task, &ids, true)?;
        summary::show(&session.printer, &preparation)?;
        session.printer.message(format!(
            "{} came from the remote",
            units::bytes(link.remote().received())
        ));
        Ok(exit(&preparation))
    }
}
