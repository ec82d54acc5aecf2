//! `prep remote pull`: gets prepared competitions from the remote.

use clap::Args;
use prep_app::remote_of;
use prep_core::units;

use crate::error::CliError;
use crate::exit::Exit;
use crate::options::PreparationArgs;
use crate::output::summary;
use crate::remote::RemoteArgs;
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Get prepared competitions from the remote
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep remote pull --remote s3://bucket/team
  prep remote pull spaceship-titanic --remote s3://bucket/team

Without an ID, the command gets all competitions that the remote knows. No step runs except checks, and published checksums \
are verified here. You can interrupt and repeat it. You must accept the rules of each competition, even if somebody else \
downloaded its data: `prep fetch --check-rules` lists them.")]
pub struct PullArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    preparation: PreparationArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

impl PullArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let session = &session.linked(&self.remote)?;
        let link = remote_of(&session.settings)?;
        let task = session.local_task(&self.preparation)?;
        let ids = self.selection.ids_or(session, || {
            let known = link.sources()?.into_iter();
            Ok(known.filter(|id| task.catalog.find(id).is_some()).collect())
        })?;
        if ids.is_empty() {
            let message = format!("the remote {} has no competition", link.remote().name());
            return Err(CliError::new(Exit::Input, message)
                .help("run `prep remote push` on a machine where they are prepared"));
        }
        session.printer.message(
            "you must accept the rules of each competition; `prep fetch --check-rules` lists them",
        );
        let preparation = session.prepare(&task, &ids, true)?;
        summary::show(&session.printer, &preparation)?;
        session.printer.message(format!(
            "{} received from the remote",
            units::bytes(link.remote().received())
        ));
        Ok(summary::exit(&preparation))
    }
}
