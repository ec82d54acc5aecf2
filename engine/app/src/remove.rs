//! Removes the files of competitions from this machine: prepared data, downloaded bundles, cached results.
//!
//! The entries of removed competitions stay in `prep.lock`. Therefore a later run can be compared with the removed data.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use prep_cache::{GcReport, Store, StoreError, Unwritable};
use prep_core::{Failure, chain};
use prep_steps::RemovedFiles;
use serde::Serialize;

use crate::catalog::Catalog;
use crate::error::Error;
use crate::settings::{Settings, prepared_dir};
use crate::{doctor, sealed};

/// The data to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The only variant whose prepared data are removed. `None` for all variants.
    pub variant: Option<String>,
    pub bundles: bool,
    pub cache: bool,
    /// Only report the data that would be removed.
    pub dry_run: bool,
}

/// The removed data, or the data that would be removed.
#[derive(Debug, Default)]
pub struct RemovalResult {
    pub competitions: Vec<RemovedCompetition>,
    /// The removed results of the cache. `None` if there is no cache, or its results are not removed.
    pub cache: Option<GcReport>,
    /// Data that could not be removed.
    pub errors: Vec<Error>,
}

/// The removed files of one competition.
#[derive(Debug, Default, Serialize)]
pub struct RemovedCompetition {
    pub id: String,
    /// Prepared data of the removed variants.
    pub prepared: Space,
    /// The removed variants that were prepared.
    #[serde(skip)]
    pub variants: Vec<String>,
    /// Bundles and further sources in the data directory.
    pub bundle: Space,
}

/// Number of files, and their size.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Space {
    pub files: u64,
    pub bytes: u64,
}

impl RemovalResult {
    pub fn bytes(&self) -> u64 {
        let files = self.competitions.iter();
        let files = files.map(|competition| competition.prepared.bytes + competition.bundle.bytes);
        files.sum::<u64>() + self.cache.as_ref().map_or(0, |cache| cache.removed_bytes)
    }
}

/// Removes the prepared data of the competitions `ids`, and the bundles and cached results that `removal` selects. If
/// the user may not write a directory of a competition, nothing of this competition is removed. After any other error,
/// the removal continues with the other data.
///
/// # Errors
/// Returns an error if an id is unknown, or if a run uses the cache.
pub fn remove(
    settings: &Settings,
    catalog: &Catalog,
    ids: &[String],
    removal: &Removal,
) -> Result<RemovalResult, Error> {
    for id in ids {
        catalog.get(id)?;
    }
    let mut result = RemovalResult::default();
    let variants = match &removal.variant {
        Some(variant) => vec![variant.clone()],
        None => settings.variants(),
    };
    let mut removable = Vec::new();
    for id in ids {
        match require_removable(settings, id, &variants) {
            Ok(()) => removable.push(id.clone()),
            Err(error) => result.errors.push(error),
        }
    }
    let ids = &removable;
    // The cache comes first, because this step fails if a run is in progress.
    result.cache = match remove_cached(settings, ids, removal) {
        Err(error @ StoreError::InUse { .. }) => return Err(error.into()),
        Err(error) => {
            result.errors.push(error.into());
            None
        }
        Ok(cache) => cache,
    };
    for id in ids {
        let mut removed = RemovedCompetition {
            id: id.clone(),
            ..RemovedCompetition::default()
        };
        for variant in &variants {
            let data_dir = settings.data_dir_of(variant);
            if prepared_dir(&data_dir, id).exists() {
                removed.variants.push(variant.clone());
            }
            let ended = remove_competition(&data_dir, removal, &mut removed);
            result.errors.extend(ended.err());
        }
        result.competitions.push(removed);
    }
    Ok(result)
}

/// Levels of directories below the directory of a competition that are examined before the removal.
const EXAMINED_LEVELS: usize = 64;

/// Returns an error if the current user cannot remove files from a directory of the competition.
fn require_removable(settings: &Settings, id: &str, variants: &[String]) -> Result<(), Error> {
    let mut found = Unwritable::default();
    for variant in variants {
        let home = settings.data_dir_of(variant).join(id);
        found.examine_directories(&home, EXAMINED_LEVELS);
    }
    match doctor::unwritable("data", &found) {
        None => Ok(()),
        Some(finding) => {
            let message = format!("cannot remove `{id}`: {}", finding.text);
            let error = Error::new(Failure::Machine, message);
            Err(Error {
                help: finding.help,
                ..error
            })
        }
    }
}

/// Removes the cached results of the competitions `ids`. Returns `None` if there is no cache, or if `removal` does not
/// include cached results.
fn remove_cached(
    settings: &Settings,
    ids: &[String],
    removal: &Removal,
) -> Result<Option<GcReport>, StoreError> {
    let Some(existing) = Store::open_existing(&settings.store_dir)?.filter(|_| removal.cache)
    else {
        return Ok(None);
    };
    let store = match removal.dry_run {
        true => existing,
        false => Store::open(&settings.store_dir)?,
    };
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    store.forget(&ids, removal.dry_run).map(Some)
}

/// Removes the files of a competition in one data directory, and adds them to `removed`.
fn remove_competition(
    data_dir: &Path,
    removal: &Removal,
    removed: &mut RemovedCompetition,
) -> Result<(), Error> {
    let id = &removed.id;
    let home = data_dir.join(id);
    let prepared = remove_prepared(data_dir, id, removal.dry_run)?;
    removed.prepared.files += prepared.files;
    removed.prepared.bytes += prepared.bytes;
    let sealed = sealed::path(data_dir, id);
    delete(&sealed, removal.dry_run, &mut removed.prepared)?;
    if removal.bundles {
        let files = prep_fetch::bundle_files(data_dir, id);
        let files = files.map_err(|error| Error::reading("list", &home, &error))?;
        for path in files {
            delete(&path, removal.dry_run, &mut removed.bundle)?;
        }
    }
    if !removal.dry_run {
        // The directory stays if it contains other files.
        let _ = fs::remove_dir(&home);
    }
    Ok(())
}

/// Removes the prepared data of a competition in a data directory. If `dry_run`, only reports the files.
fn remove_prepared(data_dir: &Path, id: &str, dry_run: bool) -> Result<RemovedFiles, Error> {
    let removed = prep_steps::remove_published(data_dir, id, dry_run);
    let removed = removed
        .map_err(|error| Error::new(Failure::Machine, format!("{id}: {}", chain(&error))))?;
    removed.ok_or_else(|| {
        let message = format!("cannot remove `{id}`: a run is publishing it");
        Error::new(Failure::Machine, message).help("try again when the run has ended")
    })
}

/// Adds the size of a file or directory to `space`, and deletes it unless `dry_run` is true.
fn delete(path: &Path, dry_run: bool, space: &mut Space) -> Result<(), Error> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::reading("examine", path, &error)),
    };
    measure(path, &found, space)?;
    let removed = match found.is_dir() {
        _ if dry_run => Ok(()),
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    removed.map_err(|error| Error::writing("remove", path, &error))
}

/// Adds the size of a file or directory to `space`.
fn measure(path: &Path, found: &fs::Metadata, space: &mut Space) -> Result<(), Error> {
    if !found.is_dir() {
        space.files += 1;
        space.bytes += found.len();
        return Ok(());
    }
    let failed = |error| Error::reading("list", path, &error);
    for entry in path.read_dir().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        measure(&entry.path(), &entry.metadata().map_err(failed)?, space)?;
    }
    Ok(())
}
