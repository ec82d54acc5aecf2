//! `publish`: writes the outputs into `DATA/ID/prepared`.
//!
//! The first publication of a competition writes a temporary directory and renames it. Later publications write only changed
//! files, each under a temporary name that is then renamed.
//!
//! ```text
//! observe   Observed       reads the earlier publication, and finds its unchanged files
//! diff      Changes        finds the files to write and to remove
//! write     WrittenFiles   applies the changes
//! record    Manifest       writes digests, listing and manifest
//! ```
//!
//! A publication replaces and removes only files that the listing records. It records new paths before it creates files, so
//! an interrupted publication leaves no unrecorded file. Files of other programs stay.
//!
//! The [`Manifest`] marks the tree as incomplete before the first change, and as complete after the last one. After a loss
//! of power, [`verify_after_restart`] finds partially written files.

#[cfg(test)]
mod conformance;
mod desired;
mod diff;
mod examine;
mod home;
mod listing;
mod manifest;
mod observe;
mod order;
mod preparation;
mod record;
mod remove;
mod sums;
mod verify;
mod write;

use std::path::{Path, PathBuf};

use prep_cache::{Digest, LinkMode};
use prep_core::{Context, Failure, Inputs, Remedy, Sink, StepError, WithRemedy};
use prep_digests::{LockedDataset, Trees};
use thiserror::Error;

pub use examine::{ExaminedFiles, HashFiles, PublishedPaths, TreeExamination, TreeState};
pub use home::{ManifestError, PathSummary, TEMP_PREFIX};
pub use listing::LISTING_FILE;
pub use manifest::{MANIFEST_FILE, Manifest, PublishedOutput, renew_record};
pub use preparation::{
    FailedRun, PreparationRecord, RecordedPipeline, RecordedSource, RememberedOptions, Verify,
};
pub use record::{record_origin, record_preparation};
pub use remove::{RemovedFiles, Remover};
pub use verify::{VerifiedTree, find_damaged, invalidate, verify_after_restart};

use crate::value::memory_of_trees;
use home::lock_file;
use observe::Observed;
use write::Publication;

#[derive(Debug, Error)]
pub(crate) enum PublishError {
    #[error("cannot {operation} `{path}`")]
    Io {
        operation: &'static str,
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("{0}")]
    InTheWay(InTheWay),
    #[error("`{0}` is not a directory, and no publication created it")]
    NotADirectory(PathBuf),
    #[error("the result differs from the lockfile: {0}")]
    Locked(String),
}

impl PublishError {
    /// `operation` completes the message "cannot ...".
    fn io(operation: &'static str, path: &Path) -> impl Fn(std::io::Error) -> StepError {
        move |cause| {
            let path = path.to_path_buf();
            StepError::machine(PublishError::Io {
                operation,
                path,
                cause,
            })
        }
    }

    fn in_the_way(prepared: &Path, paths: PathSummary) -> StepError {
        let error = PublishError::InTheWay(InTheWay {
            prepared: prepared.to_owned(),
            paths,
        });
        StepError::input(WithRemedy::new(error, Remedy::MoveOrRemoveUnpublished))
    }
}

/// Files and directories of other programs that have the path of an output.
#[derive(Debug)]
pub(crate) struct InTheWay {
    prepared: PathBuf,
    /// Paths below `prepared`.
    paths: PathSummary,
}

impl std::fmt::Display for InTheWay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let prepared = self.prepared.display();
        match (self.paths.count, self.paths.paths.first()) {
            (1, Some(path)) => write!(
                f,
                "`{}` is in the way of a published file, and no publication created it",
                self.prepared.join(path.trim_end_matches('/')).display()
            ),
            (count, _) => write!(
                f,
                "{count} files in `{prepared}` are in the way of published files, and no publication created them: {}",
                self.paths
            ),
        }
    }
}

pub(crate) struct Publish {
    pub competition: String,
    pub variant: String,
    pub data_dir: PathBuf,
    /// Id of the system's current boot, if available.
    pub boot: Option<String>,
    /// The outputs: the name of the input, and the path below `prepared` (`public/train.csv`, `public/images/`).
    pub outputs: Vec<(String, String)>,
    /// The unpacked archives, as pairs like those of `outputs`. A file that is also part of an output is published once.
    pub expanded: Vec<(String, String)>,
    /// Digests that the tree must have. `None` allows every tree.
    pub locked: Option<Trees>,
    /// Whether files of other programs in `prepared` are removed.
    pub remove_unpublished: bool,
    /// The cheapest way in which files may share bytes with the cache.
    pub link_mode: LinkMode,
}

impl Publish {
    /// Returns whether files of `manifest` share more with the cache than this publication allows, for example hard links.
    fn is_too_shared(&self, manifest: &Manifest) -> bool {
        manifest.link_mode < self.link_mode
    }

    fn home(&self) -> PathBuf {
        self.data_dir.join(&self.competition)
    }
}

/// Fails if the digests of the tree differ from those in the lockfile.
fn check_locked(locked: &Trees, found: &Trees) -> Result<(), StepError> {
    let locked = LockedDataset::default().with_trees(locked);
    let found = LockedDataset::default().with_trees(found);
    let differences = locked.differences(&found);
    if differences.is_empty() {
        return Ok(());
    }
    let texts: Vec<String> = differences.iter().map(ToString::to_string).collect();
    let error = PublishError::Locked(texts.join("; "));
    Err(StepError::new(Failure::Check, error))
}

impl Sink for Publish {
    fn kind(&self) -> &'static str {
        "publish"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        let paths: Vec<&String> = self.outputs.iter().map(|(_, path)| path).collect();
        let mut params = serde_json::json!({ "outputs": paths, "variant": self.variant });
        if !self.expanded.is_empty() {
            let names: Vec<&String> = self.expanded.iter().map(|(name, _)| name).collect();
            params["expanded"] = serde_json::json!(names);
        }
        params
    }

    fn lock(&self) -> Option<PathBuf> {
        Some(lock_file(&self.home()))
    }

    fn memory(&self, inputs: &Inputs) -> u64 {
        // Memory for the input trees, the combined tree, and the listings before and after the publication.
        write::THREAD_BYTES + (32 << 20) + 3 * memory_of_trees(inputs)
    }

    fn difference(&self, context: &Context, key: &Digest) -> Result<Option<String>, StepError> {
        let manifest =
            Manifest::read(&self.data_dir, &self.competition).map_err(StepError::machine)?;
        let Some(manifest) = manifest else {
            return Ok(Some("it has no valid `prepared.json`".to_owned()));
        };
        let is_locked = self.locked.is_none() || manifest.trees == self.locked;
        let obstacles = [
            (!manifest.complete, "its last publication was interrupted"),
            (manifest.key != *key, "it has other results"),
            (manifest.trees.is_none(), "its digests are unknown"),
            (!is_locked, "its digests differ from the lockfile"),
            (
                self.is_too_shared(&manifest),
                "its files share disk space with the cache",
            ),
            (
                !manifest.is_durable(self.boot.as_deref()),
                "it was not checked since a restart",
            ),
        ];
        if let Some((_, text)) = obstacles.into_iter().find(|(is_present, _)| *is_present) {
            return Ok(Some(text.to_owned()));
        }
        let examination = TreeExamination {
            data_dir: &self.data_dir,
            manifest: &manifest,
            boot: self.boot.as_deref(),
            hash: &|paths| verify::hash_files(context, paths),
        };
        let files = ExaminedFiles::InChangedDirectories;
        let mut state = examination.state(files, !context.store.is_read_only())?;
        if !self.remove_unpublished {
            state.unpublished = PathSummary::default();
        }
        Ok(state.difference())
    }

    fn run(&self, context: &Context, key: &Digest, inputs: &Inputs) -> Result<(), StepError> {
        let home = self.home();
        write::remove_leftovers(context, &home)?;
        let desired = self.desired(context, inputs)?;
        let observed = Observed::new(context, self)?;
        let mut changes = diff::compare(context, &desired, &observed, self.remove_unpublished)?;
        context.progress.set_total_bytes(changes.bytes(&desired));
        if let Some(locked) = &self.locked {
            let prepared = &observed.prepared;
            let (kept, write) = (&mut changes.kept, &changes.write);
            let new_trees = sums::desired_trees(context, prepared, &desired, kept, write)?;
            check_locked(locked, &new_trees)?;
        }
        let outputs = self.summary(context, inputs)?;
        let publication = Publication {
            context,
            publish: self,
            key,
            home: &home,
            observed: &observed,
            desired: &desired,
            changes: &changes,
        };
        let files = publication.apply()?;
        publication.record(files, outputs)
    }
}
