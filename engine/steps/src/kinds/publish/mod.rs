//! `publish`: makes `DATA/ID/prepared` agree with the outputs.
//!
//! A first publication is made in a folder of its own beside `prepared` and renamed as a whole. Later ones are a diff: a
//! file is written anew only if its content changed, under a temporary name first, and what does not belong is removed.
//! The [`Manifest`] is what says that a tree is complete: it is marked incomplete before the first change and written
//! anew after the last, so an interrupted publication is never taken for a complete one. What a loss of power may have
//! torn is found by [`settle`].

mod diff;
mod listing;
mod manifest;
mod origin;
mod settle;
mod sums;
mod write;

use std::path::{Path, PathBuf};

use prep_cache::Digest;
use prep_core::{Context, Failure, FileValue, Inputs, Sink, StepError, Value};
use prep_digests::{Locked, Trees};
use thiserror::Error;

pub use manifest::{Manifest, ManifestError, PublishedOutput};
pub use origin::note_origin;
pub use settle::{Settled, distrust, settle};

use super::outputs::archive::place;
use crate::value::{File, Layout, Opener, Tree, TreeBuilder, memory_of_trees};
use listing::{Listing, write_published};

#[derive(Debug, Error)]
pub(crate) enum PublishError {
    #[error("cannot {what} `{path}`: {cause}")]
    Io {
        what: &'static str,
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("`{path}`: {cause}")]
    Content {
        path: String,
        #[source]
        cause: crate::value::ContentError,
    },
    #[error("what would be published is not what is locked: {0}")]
    Locked(String),
}

impl PublishError {
    /// What a failed access to `path` means. `what` completes "cannot ...".
    fn io(what: &'static str, path: &Path) -> impl Fn(std::io::Error) -> StepError {
        move |cause| {
            let path = path.to_path_buf();
            StepError::machine(PublishError::Io { what, path, cause })
        }
    }
}

pub(crate) struct Publish {
    pub competition: String,
    pub variant: String,
    pub data_dir: PathBuf,
    /// The present boot of the machine, where boots can be told apart.
    pub boot: Option<String>,
    /// Inputs that are outputs: name of the input, path below `prepared` (`public/train.csv`, `public/images/`).
    pub outputs: Vec<(String, String)>,
    /// Inputs that are what archives of outputs hold, likewise. What is published anyway is not published twice.
    pub expanded: Vec<(String, String)>,
    /// What the tree must be; nothing else is published.
    pub locked: Option<Trees>,
}

impl Publish {
    fn home(&self) -> PathBuf {
        self.data_dir.join(&self.competition)
    }

    /// All files, by their path below `prepared`.
    fn desired(&self, context: &Context, inputs: &Inputs) -> Result<Tree, StepError> {
        let tree = self.layout(context, inputs)?;
        match self.expanded.is_empty() {
            true => Ok(tree),
            false => self.with_expanded(context, inputs, &tree),
        }
    }

    /// The tree, and what archives hold of which nothing is there yet.
    fn with_expanded(
        &self,
        context: &Context,
        inputs: &Inputs,
        tree: &Tree,
    ) -> Result<Tree, StepError> {
        let opener = Opener::new(context);
        let mut layout = Layout::default();
        layout.add("outputs", |files| {
            for file in tree.files() {
                files.push_file(file.path(), file);
            }
            Ok::<(), StepError>(())
        })?;
        for (name, path) in &self.expanded {
            let mut inside = TreeBuilder::default();
            place(
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
                        Some(there) if same(context, &opener, there, file)? => {}
                        // Two files on one path are found where all of them are.
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
        let mut layout = Layout::default();
        for (name, path) in &self.outputs {
            let value = crate::value::input(inputs, name)?;
            layout.add(path, |files| {
                let before = files.len();
                place(context, value, path, files)?;
                if files.len() == before {
                    // A folder of no files is still a folder.
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
            if let Ok(file) = FileValue::of(value) {
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

/// Whether two files have the same bytes, or both are folders.
fn same(
    context: &Context,
    opener: &Opener,
    one: File<'_>,
    other: File<'_>,
) -> Result<bool, StepError> {
    if one.is_folder() != other.is_folder() || one.bytes() != other.bytes() {
        return Ok(false);
    }
    let sum = |file| sums::of_file(context, opener, file);
    Ok(one.content() == other.content() || sum(one)? == sum(other)?)
}

/// Refuses trees that are not those that are locked.
fn require(locked: &Trees, found: &Trees) -> Result<(), StepError> {
    let locked = Locked::default().with_trees(locked);
    let found = Locked::default().with_trees(found);
    let differences = locked.differences(&found);
    if differences.is_empty() {
        return Ok(());
    }
    let said: Vec<String> = differences.iter().map(ToString::to_string).collect();
    let error = PublishError::Locked(said.join("; "));
    Err(StepError::new(Failure::Check, error))
}

/// Whoever publishes to this folder has this file locked, from whatever store and machine.
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
        // The trees, the tree of all, and what was written before and is written now.
        write::MEMORY_OF_THREAD + (32 << 20) + 3 * memory_of_trees(inputs)
    }

    fn is_current(&self, _context: &Context, key: &Digest) -> Result<bool, StepError> {
        let manifest =
            Manifest::read(&self.data_dir, &self.competition).map_err(StepError::machine)?;
        Ok(manifest.is_some_and(|manifest| {
            manifest.key == *key
                && manifest.trees.is_some()
                && (self.locked.is_none() || manifest.trees == self.locked)
                && manifest.is_settled(self.boot.as_deref())
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
        let is_settled = |manifest: &Manifest| manifest.is_settled(self.boot.as_deref());
        let fresh = !prepared.exists();
        let old = match &manifest {
            _ if fresh => Listing::default(),
            Some(manifest) if is_settled(manifest) => Listing::read(&home),
            _ => {
                let old = settle::holding(context, &prepared, &Listing::read(&home))?;
                // Before the manifest names this boot: another attempt of it would trust the listing.
                old.write(&home).map_err(StepError::machine)?;
                old
            }
        };
        let mut changes = diff::compare(context, &desired, &old, &prepared)?;
        context.progress.set_total_bytes(changes.bytes(&desired));
        if let Some(locked) = &self.locked {
            let wanted = sums::of_wanted(context, &prepared, &desired, &mut changes)?;
            require(locked, &wanted)?;
        }
        if !changes.is_empty() {
            Manifest::mark_incomplete(&home, self.boot.clone()).map_err(StepError::machine)?;
        }
        let nothing_written = changes.write.is_empty();
        let files = write::Files::new(std::mem::take(&mut changes.kept));
        let written = match fresh {
            true => write::all(context, &home, &prepared, &desired, &changes, &files),
            false => write::changed(context, &home, &prepared, &desired, &changes, &old, &files),
        };
        if written.is_err() {
            // The disk may be full. Where this fails, too, or the run is stopped, the next one does it.
            let _ = write::remove_leftovers(context, &home);
        }
        written?;
        drop((old, changes));
        let noted = manifest.as_ref();
        let noted = noted.and_then(|noted| Some((noted.trees?, noted.origin.clone()?)));
        let boot = match manifest {
            Some(manifest) if nothing_written && is_settled(&manifest) => manifest.boot,
            // What is there was written in an earlier boot, and was just read.
            Some(_) if nothing_written => None,
            _ => self.boot.clone(),
        };
        // Nothing is called complete that another machine may be changing.
        context.check()?;
        let mut files = files.into_inner();
        sums::complete(context, &prepared, &desired, &mut files)?;
        let trees = sums::of_written(&desired, &files);
        // The same bytes have the same checksums, whether or not they were compared this time.
        let origin = noted.filter(|(before, _)| Some(*before) == trees);
        let origin = origin.map(|(_, origin)| origin);
        write_published(&home, &desired, &files).map_err(StepError::machine)?;
        drop((files, desired));
        let manifest = Manifest::complete(
            *key,
            &self.competition,
            &self.variant,
            boot,
            trees,
            self.summary(context, inputs)?,
            &prepared,
        );
        manifest
            .and_then(|manifest| manifest.with_origin(origin).write(&home))
            .map_err(StepError::machine)
    }
}
