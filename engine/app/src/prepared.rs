//! The state of a competition in the data directory.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prep_cache::{Digest, HistoryScope, Store};
use prep_contents::parallel;
use prep_core::{Context, Failure, LastRuns, Remedy, chain};
use prep_digests::digest_of_file;
use prep_spec::{BASE_VARIANT, Diagnostics};
use prep_steps::{
    ExaminedFiles, LISTING_FILE, MANIFEST_FILE, Manifest, ManifestError, PathSummary,
    TreeExamination, TreeState, VerifiedTree,
};

use crate::bundles::Note;
use crate::catalog::{Catalog, CatalogEntry};
use crate::error::Error;
use crate::outline::{digest_of_data, digest_of_grading, digest_of_text};
use crate::sealed::{self, SEALED_FILE};
use crate::settings::{Settings, prepared_dir};
use crate::stages::load::Loader;

/// Reads the manifest that the last publication wrote. Returns `None` if there is no manifest.
///
/// # Errors
/// Returns an error if the manifest exists but is damaged or cannot be read.
pub fn manifest(data_dir: &Path, id: &str) -> Result<Option<Manifest>, Error> {
    Manifest::read_undamaged(data_dir, id).map_err(|error| unreadable(id, &error))
}

/// Same as [`manifest`], but data whose publication was interrupted are an error, because they may be a mixture of two
/// publications.
///
/// # Errors
/// Returns an error if the data are incomplete, or if the manifest exists but is damaged or cannot be read.
pub(crate) fn complete_manifest(data_dir: &Path, id: &str) -> Result<Option<Manifest>, Error> {
    let manifest = manifest(data_dir, id)?;
    match &manifest {
        Some(interrupted) if !interrupted.complete => Err(incomplete(id)),
        _ => Ok(manifest),
    }
}

/// Same as [`manifest`], but treats a damaged manifest as missing, because the run that is planned replaces it.
///
/// # Errors
/// Returns an error if the manifest exists but cannot be read.
pub fn replaceable_manifest(data_dir: &Path, id: &str) -> Result<Option<Manifest>, Error> {
    Manifest::read(data_dir, id).map_err(|error| unreadable(id, &error))
}

/// Returns the error for a manifest or list of published files that cannot be read.
pub(crate) fn unreadable(id: &str, error: &ManifestError) -> Error {
    let message = format!("{id}: {}", chain(error));
    match error {
        ManifestError::Damaged { .. } => {
            Error::new(Failure::Input, message).help(Remedy::PrepareAgain { id: id.to_owned() })
        }
        ManifestError::Io { path, cause, .. } if cause.kind() == ErrorKind::PermissionDenied => {
            Error::new(Failure::Machine, message).denied(path)
        }
        _ => Error::new(Failure::Machine, message)
            .help("remove this file and prepare the competition again"),
    }
}

/// Returns a warning if the pipeline changed since the data were prepared. Parses the pipeline if its file
/// changed, and reads no prepared file.
pub fn pipeline_change(entry: &CatalogEntry, manifest: &Manifest) -> Option<String> {
    let recorded = manifest.preparation.as_ref()?.pipeline?;
    let (id, variant) = (&entry.id, &manifest.variant);
    if digest_of_text(entry) == recorded.text {
        return None;
    }
    // `prep plan` reports mistakes in the pipeline.
    let pipeline = entry.load(variant).ok()?;
    let option = match variant == BASE_VARIANT {
        true => String::new(),
        false => format!(" --variant {variant}"),
    };
    let has_new_grading = |grading| digest_of_grading(&pipeline) != grading;
    let changed = match recorded.grading {
        _ if digest_of_data(&pipeline) != recorded.data => "the pipeline",
        Some(grading) if has_new_grading(grading) => "the section `grade` of the pipeline",
        _ => return None,
    };
    Some(format!(
        "{changed} changed since the data were prepared: `prep why {id}{option}` shows the changes"
    ))
}

/// Returns the warnings about the pipeline of a competition, if it has no mistakes.
pub fn pipeline_warnings(entry: &CatalogEntry, variant: &str) -> Option<Diagnostics> {
    let pipeline = Loader::without_notes().load(entry, variant);
    pipeline.ok()?.warnings
}

/// Returns the last runs that published into the data directory of a variant. Excludes runs into other directories.
pub(crate) fn last_runs(store: &Store, settings: &Settings, variant: &str) -> Arc<LastRuns> {
    let data_dir = settings.data_dir_of(variant);
    let scope = HistoryScope::new(variant, &data_dir);
    // The manifest of an interrupted publication is ignored, because no run has recorded its key yet.
    let published = move |id: &str| {
        let manifest = Manifest::read(&data_dir, id).ok()?;
        manifest.filter(|one| one.complete).map(|one| one.key)
    };
    Arc::new(LastRuns::new(store, scope, published))
}

/// The state of a competition in a data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreparedState {
    /// Complete, and all files have their published content.
    Prepared,
    /// Complete, and all files have their recorded sizes and times, but the system was restarted after the files were
    /// written. Therefore the next run reads the files once to verify their content.
    Unchecked,
    /// Complete and unchanged, but the private files are sealed.
    Sealed,
    /// The data were complete, but the content of files was changed since, or files were removed.
    Changed,
    /// A publication was interrupted.
    Incomplete,
    NotPrepared,
}

impl PreparedState {
    /// Returns whether the data are complete, and not known to have changed.
    pub fn is_complete(self) -> bool {
        matches!(
            self,
            PreparedState::Prepared | PreparedState::Unchecked | PreparedState::Sealed
        )
    }

    /// Returns the problem of prepared data. Returns `None` if there is no problem, or if there are no data.
    pub fn problem(self) -> Option<&'static str> {
        match self {
            PreparedState::Prepared | PreparedState::Sealed | PreparedState::NotPrepared => None,
            PreparedState::Unchecked => Some("not checked since a restart"),
            PreparedState::Changed => Some("changed since prepared"),
            PreparedState::Incomplete => Some("incomplete"),
        }
    }
}

/// The state of a competition in a data directory, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedData {
    pub state: PreparedState,
    /// The differences between the directory and the record of a complete publication.
    pub tree: TreeState,
}

impl PreparedData {
    /// Compares the data of a competition in `data_dir` with its manifest. If `manifest` is `None`, the competition is not
    /// prepared. Reads the files whose metadata changed, for example after a copy.
    ///
    /// If the modification time of an output directory is unchanged, does not examine its files. Therefore this function does
    /// not notice a file that was edited in place.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be examined.
    pub fn new(
        manifest: Option<&Manifest>,
        data_dir: &Path,
        settings: &Settings,
    ) -> Result<PreparedData, Error> {
        let without_tree = |state| PreparedData {
            state,
            tree: TreeState::default(),
        };
        let Some(manifest) = manifest else {
            return Ok(without_tree(PreparedState::NotPrepared));
        };
        if !manifest.complete {
            return Ok(without_tree(PreparedState::Incomplete));
        }
        let files = ExaminedFiles::InChangedDirectories;
        let tree = examine(manifest, data_dir, settings, files)?;
        let state = match tree.has_published_content() {
            false => PreparedState::Changed,
            true if sealed::is_sealed(data_dir, &manifest.competition) => PreparedState::Sealed,
            true if manifest.is_durable(settings.boot.as_deref()) => PreparedState::Prepared,
            true => PreparedState::Unchecked,
        };
        Ok(PreparedData { state, tree })
    }
}

/// Compares the files of a complete publication with the manifest. Reads the files whose metadata changed, and records the
/// new metadata if the directory is writable.
///
/// # Errors
/// Returns an error if the files cannot be compared.
pub fn examine(
    manifest: &Manifest,
    data_dir: &Path,
    settings: &Settings,
    files: ExaminedFiles,
) -> Result<TreeState, Error> {
    let examination = TreeExamination {
        data_dir,
        manifest,
        boot: settings.boot.as_deref(),
        hash: &|paths| {
            Ok(parallel::map(paths, settings.jobs, |path| {
                digest_of_file(path).ok().map(|(sha256, _)| sha256)
            }))
        },
    };
    let mut tree = examination.state(files, true)?;
    if sealed::is_sealed(data_dir, &manifest.competition) {
        // The digest of the answers is checked when they are decrypted.
        let outdated = (!sealed::is_current(data_dir, manifest)).then(|| SEALED_FILE.to_owned());
        tree.private = PathSummary {
            count: u64::from(outdated.is_some()),
            paths: outdated.into_iter().collect(),
        };
        tree.missing_directories.remove_below("private/");
    }
    Ok(tree)
}

/// Returns the sorted ids of the competitions that this program prepared in a data directory. Includes a competition whose
/// manifest cannot be read, because the caller must report this error.
pub fn prepared_ids(catalog: &Catalog, data_dir: &Path) -> Vec<String> {
    let ids = catalog.iter().map(|entry| &entry.id);
    let prepared = ids.filter(|id| !matches!(manifest(data_dir, id), Ok(None)));
    prepared.cloned().collect()
}

/// Reads the manifests of competitions in parallel, because manifests can be long. Calls `wanted` with each manifest, and
/// returns the results that are not `None`, in the order of `ids`. Skips a manifest that cannot be read, because planning the
/// competition reports this error without stopping the others.
///
/// # Errors
/// Returns an error if the run is cancelled.
pub fn each_manifest<'i, T: Send>(
    data_dir: &Path,
    ids: &'i [String],
    context: &Context,
    wanted: impl Fn(&str, Manifest) -> Option<T> + Sync,
) -> Result<Vec<(&'i str, T)>, Error> {
    let found = context.map_in_order(ids, 0, |id| {
        let read = Manifest::read(data_dir, id).ok().flatten();
        let found = read.and_then(|manifest| wanted(id, manifest));
        Ok(found.map(|found| (id.as_str(), found)))
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// Verifies all files that were published before the last restart of the system, because a loss of power may have truncated
/// them. Reads each of these files once.
///
/// # Errors
/// Returns an error if a manifest cannot be read or written.
pub fn verify_after_restart(
    settings: &Settings,
    variant: &str,
    ids: &[String],
    context: &Context,
    notes: &dyn Fn(Note),
) -> Result<(), Error> {
    let data_dir = &settings.data_dir_of(variant);
    let boot = settings.boot.as_deref();
    let unverified = each_manifest(data_dir, ids, context, |id, manifest| {
        let is_unverified = manifest.complete && !manifest.is_durable(boot);
        (is_unverified && prepared_dir(data_dir, id).is_dir()).then_some(manifest.bytes)
    })?;
    for (id, bytes) in unverified {
        notes(Note::ReadsAgain { id, bytes });
        let verified = prep_steps::verify_after_restart(context, data_dir, id, boot)
            .map_err(|error| Error::new(error.failure(), format!("{id}: {}", chain(&error))))?;
        if let VerifiedTree::Damaged { files } = verified {
            notes(Note::Damaged { id, files });
        }
    }
    Ok(())
}

/// Finds the published files, of all variants, that were written with the content of one of `objects`, the damaged
/// objects of the cache. Returns the paths of those files whose content has changed since they were written. If `mark`
/// is true, marks these files as changed, so that the next run writes them again.
///
/// # Errors
/// Returns an error if a list of published files cannot be read, or if the files cannot be marked.
pub fn damaged_files(
    settings: &Settings,
    catalog: &Catalog,
    objects: &BTreeSet<Digest>,
    mark: bool,
) -> Result<Vec<PathBuf>, Error> {
    let mut damaged = Vec::new();
    for variant in settings.variants() {
        let data_dir = settings.data_dir_of(&variant);
        for entry in catalog.iter() {
            let id = &entry.id;
            let paths = prep_steps::find_damaged(&data_dir, id, objects);
            let paths = paths.map_err(|error| unreadable(id, &error))?;
            if mark && !paths.is_empty() {
                let marked = prep_steps::invalidate(&data_dir, id, &paths);
                marked.map_err(|error| {
                    Error::new(Failure::Machine, format!("{id}: {}", chain(&error)))
                })?;
            }
            let prepared = prepared_dir(&data_dir, id);
            damaged.extend(paths.iter().map(|path| prepared.join(path)));
        }
    }
    Ok(damaged)
}

/// Returns the error for a competition that is not prepared.
pub fn not_prepared(id: &str) -> Error {
    Error::new(
        Failure::Input,
        format!("competition `{id}` is not prepared"),
    )
    .help(Remedy::Prepare { id: id.to_owned() })
}

/// Returns the error for data whose preparation was interrupted.
pub(crate) fn incomplete(id: &str) -> Error {
    let message = format!("the prepared data of `{id}` are incomplete");
    Error::new(Failure::Input, message).help(Remedy::Prepare { id: id.to_owned() })
}

/// Returns the error for answers without a record of their publication that do not have the published checksum. Another
/// program prepared them, or somebody copied the directory `prepared` without its record.
pub fn without_record(id: &str, directory: &Path, answers: &Path) -> Error {
    let message = format!(
        "the answers of `{id}` cannot be verified: there is no `{MANIFEST_FILE}` next to {}, and they do not have the published checksum",
        directory.display()
    );
    let copy = format!(
        "if prep prepared this directory elsewhere, also copy `{MANIFEST_FILE}` and `{LISTING_FILE}`"
    );
    let remedy = Remedy::Words(copy).or(Remedy::Prepare { id: id.to_owned() });
    Error::new(Failure::Input, message).help(remedy.or(Remedy::NameAnswers {
        path: answers.display().to_string(),
    }))
}
