//! What the data folder holds of a competition.

use std::path::Path;

use prep_steps::Manifest;

use crate::error::CliError;
use crate::exit::Exit;

/// The manifest that the last publication left, if there is one.
///
/// # Errors
/// When it is there but cannot be read.
pub fn manifest(data_dir: &Path, id: &str) -> Result<Option<Manifest>, CliError> {
    Manifest::read(data_dir, id)
        .map_err(|error| CliError::new(Exit::Machine, format!("{id}: {error}")))
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
