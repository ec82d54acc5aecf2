//! What the data folder holds of a competition.

use std::path::Path;

use prep_core::{Context, Failure};
use prep_steps::{Manifest, Settled};

use crate::error::Error;
use crate::note::Note;
use crate::settings::Settings;

/// The manifest that the last publication left, if there is one.
///
/// # Errors
/// When it is there but cannot be read.
pub fn manifest(data_dir: &Path, id: &str) -> Result<Option<Manifest>, Error> {
    Manifest::read(data_dir, id)
        .map_err(|error| Error::new(Failure::Machine, format!("{id}: {error}")))
}

/// After a restart of the machine, reads once what was published before it: a loss of power may have torn it.
///
/// # Errors
/// When a manifest cannot be read or written.
pub fn settle(
    settings: &Settings,
    variant: &str,
    ids: &[String],
    context: &Context,
    notes: &dyn Fn(Note),
) -> Result<(), Error> {
    let data_dir = &settings.folder_of(variant);
    for id in ids {
        let Some(manifest) = manifest(data_dir, id)? else {
            continue;
        };
        let folder = data_dir.join(id).join("prepared");
        if manifest.is_settled(settings.boot.as_deref()) || !manifest.is_intact(&folder) {
            continue;
        }
        let bytes = manifest.bytes;
        notes(Note::ReadsAgain { id, bytes });
        let settled = prep_steps::settle(context, data_dir, id)
            .map_err(|error| Error::new(error.failure(), format!("{id}: {error}")))?;
        if let Settled::Damaged { files } = settled {
            notes(Note::Torn { id, files });
        }
    }
    Ok(())
}

/// How a competition that was not prepared is called, and the way out.
pub fn not_prepared(id: &str) -> Error {
    Error::new(
        Failure::Input,
        format!("competition `{id}` is not prepared"),
    )
    .help(format!("`prep run -c {id}` prepares it"))
}

/// Prepared by something else, and not with the published result.
pub fn not_ours(id: &str, folder: &Path) -> Error {
    let message = format!(
        "{} was not made by prep, and its answers do not have the published checksum",
        folder.display()
    );
    Error::new(Failure::Input, message)
        .help(format!("`prep run -c {id}` prepares it anew, in place"))
}
