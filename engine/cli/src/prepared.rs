//! What the data folder holds of a competition.

use std::path::Path;

use prep_steps::{Manifest, Settled};

use crate::error::CliError;
use crate::exit::Exit;
use crate::{Session, units};

/// The manifest that the last publication left, if there is one.
///
/// # Errors
/// When it is there but cannot be read.
pub fn manifest(data_dir: &Path, id: &str) -> Result<Option<Manifest>, CliError> {
    Manifest::read(data_dir, id)
        .map_err(|error| CliError::new(Exit::Machine, format!("{id}: {error}")))
}

/// After a restart of the machine, reads once what was published before it: a loss of power may have torn it.
///
/// # Errors
/// When a manifest cannot be read or written.
pub fn settle(session: &Session, ids: &[String]) -> Result<(), CliError> {
    let settings = &session.settings;
    for id in ids {
        let Some(manifest) = manifest(&settings.data_dir, id)? else {
            continue;
        };
        let folder = settings.data_dir.join(id).join("prepared");
        if manifest.is_settled(settings.boot.as_deref()) || !manifest.is_intact(&folder) {
            continue;
        }
        session.printer.message(format!(
            "{id}: the machine was restarted since; reading {} once to see that it is whole",
            units::bytes(manifest.bytes)
        ));
        let settled = prep_steps::settle(&settings.data_dir, id, settings.jobs)
            .map_err(|error| CliError::new(Exit::Machine, format!("{id}: {error}")))?;
        if settled == Settled::Busy {
            continue;
        }
        if let Settled::Damaged { files } = settled {
            session.printer.warning(format!(
                "{id}: {} not whole; it is made again",
                match files {
                    1 => "1 published file is".to_owned(),
                    files => format!("{files} published files are"),
                }
            ));
        }
    }
    Ok(())
}

/// How a competition that was not prepared is called, and the way out.
pub fn not_prepared(id: &str) -> CliError {
    CliError::new(Exit::Input, format!("competition `{id}` is not prepared"))
        .help(format!("`prep run -c {id}` prepares it"))
}

/// Prepared by something else, and not with the published result.
pub fn not_ours(id: &str, folder: &Path) -> CliError {
    let message = format!(
        "{} was not made by prep, and its answers do not have the published checksum",
        folder.display()
    );
    CliError::new(Exit::Input, message)
        .help(format!("`prep run -c {id}` prepares it anew, in place"))
}
