//! `publish`: writes the outputs into `DATA/ID/prepared`.
//!
//! The first publication of a competition is written into a temporary directory next to `prepared`, which is then
//! renamed. Later publications only apply the differences: a file is written again only if its content changed, first
//! under a temporary name. Files of an earlier publication that the new one does not have are removed. Files of other
//! programs stay (see `diff`), and the manifest counts them.
//!
//! The [`Manifest`] records that a tree is complete. It is marked incomplete before the first change and written after
//! the last, so an interrupted publication is never treated as complete. After a loss of power,
//! [`verify_after_restart`] finds files that were only partially written.

#[cfg(test)]
mod conformance;
mod diff;
mod listing;
mod manifest;
mod order;
mod origin;
mod preparation;
mod sums;
mod unpublished;
mod verify;
mod write;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prep_cache::{Digest, LinkMode};
use prep_core::{Context, Failure, FileValue, Inputs, Sink, StepError, Value};
use prep_digests::{LockedDataset, Trees};
use thiserror::Error;

pub use manifest::{MANIFEST_FILE, Manifest, ManifestError, PublishedOutput};
pub use origin::{record_origin, record_preparation};
pub use preparation::{PreparationRecord, RecordedOptions, RecordedSource};
pub use unpublished::Unpublished;
pub use verify::{VerifiedTree, invalidate, verify_after_restart};

use super::outputs::archive::add_output;
use crate::value::{Opener, OutputLayout, Tree, TreeBuilder, TreeFile, memory_of_trees};
use diff::Published;
use listing::{PublishedListing, write_published};
use manifest::{PublishedTree, Sharing};

#[derive(Debug, Error)]
pub(crate) enum PublishError {
    #[error("cannot {operation} `{path}`")]
    Io {
        operation: &'static str,
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("`{0}` is in the way of a published file, and no publication created it")]
    InTheWay(PathBuf),
    #[error("the result differs from the lockfile: {0}")]
    Locked(String),
}

impl PublishError {
    /// Converts an I/O error on `path`. `operation` completes the message "cannot ...".
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

    fn in_the_way(prepared: &Path, inner: &Path) -> StepError {
        StepError::input(PublishError::InTheWay(prepared.join(inner)))
    }
}

pub(crate) struct Publish {
    pub competition: String,
    pub variant: String,
    pub data_dir: PathBuf,
    /// Identifier of the system's current boot, if available.
    pub boot: Option<String>,
    /// Inputs that are outputs: the name of the input, and the path below `prepared` (`public/train.csv`,
    /// `public/images/`).
    pub outputs: Vec<(String, String)>,
    /// Inputs that are unpacked archives, in the same form. If a file is also part of an output, it is published once.
    pub expanded: Vec<(String, String)>,
    /// Digests that the tree must have. A different tree is not published.
    pub locked: Option<Trees>,
    /// Whether files of other programs in the tree are removed.
    pub remove_unpublished: bool,
    /// The cheapest way in which files may share bytes with the cache.
    pub link_mode: LinkMode,
}

impl Publish {
    /// Returns whether files of a publication share more disk space with the cache than this one allows.
    fn is_too_shared(&self, manifest: &Manifest) -> bool {
        manifest.link_mode < Sharing::from(self.link_mode)
    }

    fn home(&self) -> PathBuf {
        self.data_dir.join(&self.competition)
    }

    /// Returns all files, by their path below `prepared`.
    fn desired(&self, context: &Context, inputs: &Inputs) -> Result<Tree, StepError> {
        let tree = self.layout(context, inputs)?;
        match self.expanded.is_empty() {
            true => Ok(tree),
            false => self.with_expanded(context, inputs, &tree),
        }
    }

    /// Returns the tree with the files of unpacked archives added, except for those that it already has.
    fn with_expanded(
        &self,
        context: &Context,
        inputs: &Inputs,
        tree: &Tree,
    ) -> Result<Tree, StepError> {
        let opener = Opener::new(context);
        let mut layout = OutputLayout::default();
        layout.add("outputs", |files| {
            for file in tree.files() {
                files.push_file(file.path(), file);
            }
            Ok::<(), StepError>(())
        })?;
        for (name, path) in &self.expanded {
            let mut inside = TreeBuilder::default();
            add_output(
                context,
                crate::value::input(inputs, name)?,
                path,
                &mut inside,
            )?;
            let inside = inside.finish(&context.cancel).map_err(StepError::input)?;
            layout.add(name, |files| {
                for file in inside.files() {
                    context.check()?;
                    match tree.find(file.path()) {
                        Some(existing) if has_same_bytes(context, &opener, existing, file)? => {}
                        // `into_tree` reports two different files with the same path.
                        _ => files.push_file(file.path(), file),
                    }
                }
                Ok::<(), StepError>(())
            })?;
        }
        layout
            .into_tree(write::folds_case(&self.home()), &context.cancel)
            .map_err(StepError::pipeline)
    }

    fn layout(&self, context: &Context, inputs: &Inputs) -> Result<Tree, StepError> {
        let mut layout = OutputLayout::default();
        for (name, path) in &self.outputs {
            let value = crate::value::input(inputs, name)?;
            layout.add(path, |files| {
                let before = files.len();
                add_output(context, value, path, files)?;
                if files.len() == before {
                    // An empty directory.
                    let path = path.strip_suffix("/./").unwrap_or(path);
                    files.push(path.trim_end_matches('/'), None);
                }
                Ok::<(), StepError>(())
            })?;
        }
        layout
            .into_tree(write::folds_case(&self.home()), &context.cancel)
            .map_err(StepError::pipeline)
    }

    fn summary(
        &self,
        context: &Context,
        inputs: &Inputs,
    ) -> Result<Vec<PublishedOutput>, StepError> {
        let outputs = self.outputs.iter().chain(&self.expanded);
        let outputs = outputs.map(|(name, path)| {
            let value: &Value = crate::value::input(inputs, name)?;
            if let Ok(file) = FileValue::from_value(value) {
                let FileValue {
                    digest,
                    bytes,
                    rows,
                    columns,
                    ..
                } = file;
                return Ok(PublishedOutput {
                    path: path.clone(),
                    files: 1,
                    bytes,
                    digest: Some(digest),
                    rows,
                    columns,
                });
            }
            let tree = Tree::load(context, value)?;
            let (files, bytes) = tree.size();
            Ok(PublishedOutput {
                path: path.clone(),
                files,
                bytes,
                digest: None,
                rows: None,
                columns: Vec::new(),
            })
        });
        outputs.collect()
    }
}

/// Returns whether two files have the same bytes, or both are directories.
fn has_same_bytes(
    context: &Context,
    opener: &Opener,
    one: TreeFile<'_>,
    other: TreeFile<'_>,
) -> Result<bool, StepError> {
    if one.is_directory() != other.is_directory() || one.bytes() != other.bytes() {
        return Ok(false);
    }
    let sum = |file| sums::file_sha256(context, opener, file);
    Ok(one.content() == other.content() || sum(one)? == sum(other)?)
}

/// Returns an error if the trees differ from the locked ones.
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

/// Returns the lock file of a competition. Every process that publishes into this directory locks it, regardless of its
/// cache and machine.
fn lock_file(home: &Path) -> PathBuf {
    home.join("prepared.lock")
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
        // The trees, the combined tree, and the listings before and after.
        write::THREAD_BYTES + (32 << 20) + 3 * memory_of_trees(inputs)
    }

    fn is_current(&self, _context: &Context, key: &Digest) -> Result<bool, StepError> {
        let manifest =
            Manifest::read(&self.data_dir, &self.competition).map_err(StepError::machine)?;
        Ok(manifest.is_some_and(|manifest| {
            manifest.key == *key
                && manifest.trees.is_some()
                && (self.locked.is_none() || manifest.trees == self.locked)
                && (!self.remove_unpublished || manifest.unpublished.is_empty())
                && !self.is_too_shared(&manifest)
                && manifest.is_durable(self.boot.as_deref())
                && manifest.is_intact(&self.home().join("prepared"))
        }))
    }

    fn run(&self, context: &Context, key: &Digest, inputs: &Inputs) -> Result<(), StepError> {
        let home = self.home();
        write::remove_leftovers(context, &home)?;
        let desired = self.desired(context, inputs)?;
        let prepared = home.join("prepared");
        let manifest =
            Manifest::read(&self.data_dir, &self.competition).map_err(StepError::machine)?;
        let is_durable = |manifest: &Manifest| manifest.is_durable(self.boot.as_deref());
        let fresh = !prepared.exists();
        let old = match &manifest {
            _ if fresh => PublishedListing::default(),
            Some(manifest) if is_durable(manifest) => PublishedListing::read(&home),
            _ => {
                let old = verify::intact_files(context, &prepared, &PublishedListing::read(&home))?;
                // Written before the manifest contains this boot. Otherwise a second attempt would trust the old
                // listing.
                old.write(&home).map_err(StepError::machine)?;
                old
            }
        };
        // Files that share more disk space than allowed are written again.
        let is_too_shared = manifest.as_ref().is_some_and(|one| self.is_too_shared(one));
        let old = match is_too_shared {
            true => old.without_objects(),
            false => old,
        };
        let directories = manifest
            .as_ref()
            .map_or_else(BTreeSet::new, Manifest::directories);
        let published = Published {
            listing: &old,
            directories: &directories,
        };
        let mut changes = diff::compare(
            context,
            &desired,
            &published,
            &prepared,
            self.remove_unpublished,
        )?;
        context.progress.set_total_bytes(changes.bytes(&desired));
        if let Some(locked) = &self.locked {
            let new_trees = sums::desired_trees(context, &prepared, &desired, &mut changes)?;
            check_locked(locked, &new_trees)?;
        }
        if !changes.is_empty() {
            Manifest::mark_incomplete(&home, self.boot.clone()).map_err(StepError::machine)?;
            if !fresh {
                let claimed = old.claiming(&desired, &changes.write);
                claimed.write(&home).map_err(StepError::machine)?;
            }
        }
        let nothing_written = changes.write.is_empty();
        let files = write::WrittenFiles::new(std::mem::take(&mut changes.kept));
        let publication = write::Publication {
            context,
            home: &home,
            prepared: &prepared,
            desired: &desired,
            changes: &changes,
            files: &files,
            link_mode: self.link_mode,
            time: SystemTime::now(),
        };
        let written = match fresh {
            true => publication.write_all(),
            false => publication.apply_changes(&old),
        };
        if written.is_err() {
            // The disk may be full. If the removal also fails, or the run is cancelled, the next run removes the files.
            let _ = write::remove_leftovers(context, &home);
        }
        written?;
        let link_mode = match manifest.as_ref().map(|manifest| manifest.link_mode) {
            Some(before) if nothing_written => before,
            Some(before) if !is_too_shared => before.min(self.link_mode.into()),
            _ => self.link_mode.into(),
        };
        let outputs = self.summary(context, inputs)?;
        drop((old, changes.write, changes.remove));
        let recorded = manifest
            .as_ref()
            .map(|one| (one.trees, one.origin.clone(), one.preparation.clone()));
        let boot = match manifest {
            Some(manifest) if nothing_written && is_durable(&manifest) => manifest.boot,
            // The existing files were written in an earlier boot and have just been verified.
            Some(_) if nothing_written => None,
            _ => self.boot.clone(),
        };
        // Stop if another machine took over the lock, because it may be changing the tree.
        context.check()?;
        let mut files = files.into_inner();
        // Computing digests may take long. The listing is stored first, so that after an interruption the files are
        // known to belong to this publication.
        write_published(&home, &desired, &files).map_err(StepError::machine)?;
        sums::complete(context, &prepared, &desired, &mut files)?;
        let trees = sums::written_trees(&desired, &files);
        // If the tree has the same checksums as before, its recorded origin remains valid, even if published checksums
        // were not compared this time.
        let recorded = recorded.filter(|(before, ..)| before.is_some() && *before == trees);
        let (origin, preparation) =
            recorded.map_or((None, None), |(_, origin, record)| (origin, record));
        write_published(&home, &desired, &files).map_err(StepError::machine)?;
        drop((files, desired));
        let tree = PublishedTree {
            prepared: &prepared,
            outputs,
            directories: changes.directories,
            unpublished: changes.unpublished,
            boot,
            trees,
            origin,
            preparation,
            link_mode,
        };
        let manifest = Manifest::complete(self, *key, tree);
        let written = manifest.and_then(|manifest| manifest.write(&home));
        written.map_err(StepError::machine)
    }
}
