//! Removes the files of competitions from this machine: prepared data, downloaded bundles, cached results.
//!
//! The entries of removed competitions stay in `prep.lock`. Therefore a later run can be compared with the removed data.

use std::fs;
use std::path::Path;

use prep_cache::{GcReport, Store, StoreError, Unwritable};
use prep_core::{Failure, chain};
use prep_steps::{ManifestError, PathSummary, RemovedFiles, Remover};
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
    /// Whether files of other programs in the prepared directories are removed.
    pub unpublished: bool,
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
    pub prepared: RemovedFiles,
    /// The removed variants that were prepared.
    #[serde(skip)]
    pub variants: Vec<String>,
    /// Bundles and further sources in the data directory.
    pub bundle: RemovedFiles,
    /// Files of other programs that stay in the prepared directories.
    #[serde(skip_serializing_if = "PathSummary::is_empty")]
    pub unpublished: PathSummary,
}

impl RemovalResult {
    pub fn freed_bytes(&self) -> u64 {
        let files = self.competitions.iter();
        let files = files.map(|one| one.prepared.freed_bytes + one.bundle.freed_bytes);
        files.sum::<u64>() + self.cache.as_ref().map_or(0, |cache| cache.freed_bytes)
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
    let mut remover = Remover::new(removal.dry_run);
    // The cache comes first, because this step fails if a run is in progress.
    result.cache = match remove_cached(settings, ids, removal, &mut remover) {
        Err(error @ StoreError::InUse { .. }) => return Err(error.into()),
        Err(error) => {
            result.errors.push(error.into());
            None
        }
        Ok(cache) => cache,
    };
    for id in ids {
        let (removed, errors) = remove_competition(settings, id, &variants, removal, &mut remover);
        result.competitions.push(removed);
        result.errors.extend(errors);
    }
    Ok(result)
}

/// Returns the files of a competition in the data directory. Their `freed_bytes` are the disk space that they need in addition
/// to the cache.
///
/// # Errors
/// Returns an error if files cannot be examined.
pub fn disk_use(settings: &Settings, id: &str) -> Result<RemovedCompetition, Error> {
    let removal = Removal {
        variant: None,
        bundles: true,
        cache: false,
        unpublished: true,
        dry_run: true,
    };
    let mut remover = Remover::new(true);
    let variants = settings.variants();
    let (found, mut errors) = remove_competition(settings, id, &variants, &removal, &mut remover);
    errors.pop().map_or(Ok(found), Err)
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

/// Removes the cached results that only runs of the competitions `ids` into the data directory use. Returns `None` if the cache
/// does not exist, or if `removal` does not include cached results.
fn remove_cached(
    settings: &Settings,
    ids: &[String],
    removal: &Removal,
    remover: &mut Remover,
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
    let directory_of = |variant: &str| settings.data_dir_of(variant);
    let report = store.forget(&ids, directory_of, removal.dry_run)?;
    for (digest, _) in report.objects.iter().filter(|_| removal.dry_run) {
        // Published files may be hard links to this object. Without this call, a dry run would count the cache's link
        // as remaining, and would report that removing the published files frees nothing.
        if let Ok(object) = store.metadata_of(digest) {
            remover.unlink(&object);
        }
    }
    Ok(Some(report))
}

/// Removes the files of a competition in the data directories of `variants`.
fn remove_competition(
    settings: &Settings,
    id: &str,
    variants: &[String],
    removal: &Removal,
    remover: &mut Remover,
) -> (RemovedCompetition, Vec<Error>) {
    let mut removed = RemovedCompetition {
        id: id.to_owned(),
        ..RemovedCompetition::default()
    };
    let mut errors = Vec::new();
    for variant in variants {
        let data_dir = settings.data_dir_of(variant);
        if prepared_dir(&data_dir, id).exists() {
            removed.variants.push(variant.clone());
        }
        errors.extend(remove_in(&data_dir, removal, remover, &mut removed).err());
    }
    (removed, errors)
}

/// Removes the files of a competition in one data directory, and adds them to `removed`.
fn remove_in(
    data_dir: &Path,
    removal: &Removal,
    remover: &mut Remover,
    removed: &mut RemovedCompetition,
) -> Result<(), Error> {
    let id = &removed.id;
    let home = data_dir.join(id);
    let failed =
        |error: ManifestError| Error::new(Failure::Machine, format!("{id}: {}", chain(&error)));
    if home.is_symlink() {
        // The linked files may belong to another data directory.
        return remover.remove(&home, &mut removed.prepared).map_err(failed);
    }
    let prepared = remover.remove_published(data_dir, id, removal.unpublished);
    let (files, kept) = prepared.map_err(failed)?.ok_or_else(|| {
        let message = format!("cannot remove `{id}`: a run is publishing it");
        Error::new(Failure::Machine, message).help("try again when the run has ended")
    })?;
    removed.prepared.add(files);
    removed.unpublished = std::mem::take(&mut removed.unpublished).with(&kept);
    let sealed = sealed::path(data_dir, id);
    remover
        .remove(&sealed, &mut removed.prepared)
        .map_err(failed)?;
    if removal.bundles {
        let files = prep_fetch::bundle_files(data_dir, id);
        let files = files.map_err(|error| Error::reading("list", &home, &error))?;
        for path in files {
            remover.remove(&path, &mut removed.bundle).map_err(failed)?;
        }
    }
    if !removal.dry_run {
        // The directory stays if it contains other files.
        let _ = fs::remove_dir(&home);
    }
    Ok(())
}
