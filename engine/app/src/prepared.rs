//! The state of a competition in the data directory.

use std::path::Path;

use prep_core::{Context, Failure, Remedy, StepError};
use prep_steps::{Manifest, VerifiedTree};

use crate::catalog::Catalog;
use crate::error::Error;
use crate::note::Note;
use crate::settings::Settings;

/// The manifest that the last publication left, if there is one.
///
/// # Errors
/// When the manifest exists but cannot be read.
pub fn manifest(data_dir: &Path, id: &str) -> Result<Option<Manifest>, Error> {
    Manifest::read(data_dir, id)
        .map_err(|error| Error::new(Failure::Machine, format!("{id}: {error}")))
}

/// The state of a competition in a data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreparedState {
    /// Complete and unchanged, by sizes and times.
    Prepared,
    /// The same, but written before the system started: it is read once by the next run.
    Unchecked,
    /// The data was complete, and files were changed.
    Changed,
    /// A publication was interrupted.
    Incomplete,
    NotPrepared,
}

impl PreparedState {
    /// The state of a competition whose manifest is `manifest`, in the data directory `data_dir`.
    pub fn new(manifest: Option<&Manifest>, data_dir: &Path, settings: &Settings) -> PreparedState {
        let Some(manifest) = manifest else {
            return PreparedState::NotPrepared;
        };
        let prepared = data_dir.join(&manifest.competition).join("prepared");
        match manifest.is_intact(&prepared) {
            true if manifest.is_durable(settings.boot.as_deref()) => PreparedState::Prepared,
            true => PreparedState::Unchecked,
            false if manifest.complete => PreparedState::Changed,
            false => PreparedState::Incomplete,
        }
    }

    /// The problem of data that are not simply prepared; none where there are no data.
    pub fn problem(self) -> Option<&'static str> {
        match self {
            PreparedState::Prepared | PreparedState::NotPrepared => None,
            PreparedState::Unchecked => Some("not checked since a restart"),
            PreparedState::Changed => Some("changed since prepared"),
            PreparedState::Incomplete => Some("incomplete"),
        }
    }
}

/// The competitions of a catalog that this program prepared in a data directory, by id.
///
/// # Errors
/// If a manifest cannot be read.
pub fn prepared_ids(catalog: &Catalog, data_dir: &Path) -> Result<Vec<String>, Error> {
    let mut ids = Vec::new();
    for entry in catalog.iter() {
        if manifest(data_dir, &entry.id)?.is_some() {
            ids.push(entry.id.clone());
        }
    }
    Ok(ids)
}

/// Applies `wanted` to the manifests of competitions, in order. Manifests are read in parallel, because those of many files are long.
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
    let found = context.map_parallel(ids.len(), 0, || (), each);
    let found = found.map_err(|error| Error::new(error.failure(), error.to_string()))?;
    let mut found: Vec<_> = found.into_iter().flatten().collect();
    found.sort_unstable_by_key(|(place, ..)| *place);
    Ok(found.into_iter().map(|(_, id, one)| (id, one)).collect())
}

/// After a restart of the machine, reads files once that were published before, because a loss of power may have truncated them.
///
/// # Errors
/// When a manifest cannot be read or written.
pub fn verify_after_restart(
    settings: &Settings,
    variant: &str,
    ids: &[String],
    context: &Context,
    notes: &dyn Fn(Note),
) -> Result<(), Error> {
    let data_dir = &settings.data_dir_of(variant);
    let boot = settings.boot.as_deref();
    let doubtful = each_manifest(data_dir, ids, context, |id, manifest| {
        let directory = data_dir.join(id).join("prepared");
        let is_doubtful = !manifest.is_durable(boot) && manifest.is_intact(&directory);
        is_doubtful.then_some(manifest.bytes)
    })?;
    for (id, bytes) in doubtful {
        notes(Note::ReadsAgain { id, bytes });
        let verified = prep_steps::verify_after_restart(context, data_dir, id)
            .map_err(|error| Error::new(error.failure(), format!("{id}: {error}")))?;
        if let VerifiedTree::Damaged { files } = verified {
            notes(Note::Damaged { id, files });
        }
    }
    Ok(())
}

/// The error for a competition that is not prepared, with help.
pub fn not_prepared(id: &str) -> Error {
    Error::new(
        Failure::Input,
        format!("competition `{id}` is not prepared"),
    )
    .help(Remedy::Prepare { id: id.to_owned() })
}

/// Prepared by another program, with another result than the published one.
pub fn not_ours(id: &str, directory: &Path) -> Error {
    let message = format!(
        "{} was not made by prep, and its answers do not have the published checksum",
        directory.display()
    );
    Error::new(Failure::Input, message).help(Remedy::Prepare { id: id.to_owned() })
}
