//! What the data folder holds of a competition.

use std::path::Path;

use prep_core::{Context, Failure, StepError};
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

/// What `wanted` takes of the manifests of competitions, in their order. They are read side by side: those of many files
/// are long.
///
/// # Errors
/// As [`manifest`], and when the run is cancelled.
pub fn each_manifest<'i, T: Send>(
    data_dir: &Path,
    ids: &'i [String],
    context: &Context,
    wanted: impl Fn(&str, Manifest) -> Option<T> + Sync,
) -> Result<Vec<(&'i str, T)>, Error> {
    let each = |(): &mut (), place: usize| {
        let Some(id) = ids.get(place) else {
            return Ok(None);
        };
        let read = Manifest::read(data_dir, id);
        let read = read.map_err(|error| StepError::machine(format!("{id}: {error}")))?;
        let found = read.and_then(|manifest| wanted(id, manifest));
        Ok(found.map(|found| (place, id.as_str(), found)))
    };
    let found = context.spread(ids.len(), 0, || (), each);
    let found = found.map_err(|error| Error::new(error.failure(), error.to_string()))?;
    let mut found: Vec<_> = found.into_iter().flatten().collect();
    found.sort_unstable_by_key(|(place, ..)| *place);
    Ok(found.into_iter().map(|(_, id, one)| (id, one)).collect())
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
    let boot = settings.boot.as_deref();
    let doubtful = each_manifest(data_dir, ids, context, |id, manifest| {
        let folder = data_dir.join(id).join("prepared");
        let is_doubtful = !manifest.is_settled(boot) && manifest.is_intact(&folder);
        is_doubtful.then_some(manifest.bytes)
    })?;
    for (id, bytes) in doubtful {
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
