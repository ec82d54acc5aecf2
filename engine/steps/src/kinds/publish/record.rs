//! Last stage of a publication: records the files, their digests, how the tree was prepared, and that it is complete.
//!
//! The record is part of the tree's manifest, so it describes this tree and no other. A cache may be shared by several data
//! directories, and what it saw last may belong to a different one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prep_cache::{CLOCK_TICK, Content, Digest, LinkMode};
use prep_core::StepError;
use prep_digests::DataOrigin;
use serde::{Deserialize, Serialize};

use super::listing::{WrittenFile, write_published};
use super::manifest::{Manifest, PublishedOutput, PublishedTree};
use super::write::Publication;
use super::{lock_file, verify};
use crate::kinds::expand::Expand;

impl Publication<'_> {
    /// Writes the records of the tree. `files` has the metadata of its files.
    pub(super) fn record(
        &self,
        mut files: Vec<Option<WrittenFile>>,
        outputs: Vec<PublishedOutput>,
    ) -> Result<(), StepError> {
        let (context, observed, desired) = (self.context, self.observed, self.desired);
        // Stop if another machine took over the lock, because it may be changing the tree.
        context.check()?;
        let write_listing = |files: &[Option<WrittenFile>]| {
            let written = write_published(self.home, desired, files, observed.began);
            written.map_err(StepError::machine)
        };
        // Computing digests may take long. The listing is stored first, so that the next publication after an
        // interruption does not write the files again.
        write_listing(&files)?;
        verify::complete(context, &observed.prepared, desired, &mut files)?;
        let trees = verify::written_trees(desired, &files);
        write_listing(&files)?;
        drop(files);
        // If the tree has the same checksums as before, its recorded origin and preparation remain valid, even if
        // published checksums were not compared this time.
        let earlier = observed.manifest.as_ref();
        let same = earlier.filter(|earlier| earlier.trees.is_some() && earlier.trees == trees);
        let origin = same.and_then(|earlier| earlier.origin.clone());
        let preparation = same.and_then(|earlier| earlier.preparation.clone());
        // Later changes then have a later time, unless the clock of the file system is coarse.
        std::thread::sleep(CLOCK_TICK);
        let tree = PublishedTree {
            prepared: &observed.prepared,
            outputs,
            directories: self.changes.directories.clone(),
            unpublished: self.changes.unpublished.clone(),
            boot: self.boot(),
            trees,
            origin,
            preparation,
            link_mode: self.sharing(),
            began: observed.began,
        };
        let manifest = Manifest::complete(self.publish, *self.key, tree);
        manifest.write(self.home).map_err(StepError::machine)
    }

    /// Returns the boot in which the files were written, or `None` if they are known to be on disk.
    fn boot(&self) -> Option<String> {
        match &self.observed.manifest {
            Some(earlier) if self.changes.write.is_empty() && self.observed.is_durable => {
                earlier.boot.clone()
            }
            // The existing files were written in an earlier boot and have just been verified.
            Some(_) if self.changes.write.is_empty() => None,
            _ => self.publish.boot.clone(),
        }
    }

    /// Returns how the files share disk space with the cache.
    fn sharing(&self) -> LinkMode {
        let new = self.publish.link_mode;
        match &self.observed.manifest {
            Some(earlier) if self.changes.write.is_empty() => earlier.link_mode,
            Some(earlier) if !self.observed.is_too_shared => earlier.link_mode.min(new),
            _ => new,
        }
    }
}

/// How a published tree was prepared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparationRecord {
    /// The end of the last run that changed the tree or this record, in seconds since 1970.
    pub at: u64,
    /// The time of the run that compared the tree with the published checksums, in seconds since 1970. `None` if they
    /// were not compared, or differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared_at: Option<u64>,
    /// The bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<RecordedSource>,
    /// The files of further sources, by the name of the source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, RecordedSource>,
    /// The options, as far as they are not the defaults.
    #[serde(default)]
    pub options: RememberedOptions,
}

/// A file from which a tree was prepared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedSource {
    /// The file's digests and length.
    #[serde(flatten)]
    pub content: Content,
    /// Whether the file has only some members of the bundle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
    /// The URL of the file, for a further source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The options of a run that a later run into the same directory uses if it does not set them. They determine whether the
/// run succeeds, and what it publishes. `None` if an option is not set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RememberedOptions {
    /// A directory with existing bundles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
    /// Whether only the members that a pipeline reads are downloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<bool>,
    /// The files that are compared with published checksums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// How archives of `public` are unpacked in the data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expand_archives: Option<Expand>,
    /// The cheapest way in which published files may share bytes with the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_mode: Option<LinkMode>,
    /// A directory with descriptions that are published instead of the built-in ones: `DIR/ID.md` or
    /// `DIR/ID/description.md`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptions: Option<PathBuf>,
}

/// The files that a run compares with published checksums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    /// Bundles and outputs.
    #[default]
    All,
    /// Outputs. A bundle may have any checksum.
    Outputs,
    /// Neither bundles nor outputs.
    Nothing,
}

impl RememberedOptions {
    /// Returns these options, and those of `others` that are not set here.
    #[must_use]
    pub fn or(self, others: RememberedOptions) -> RememberedOptions {
        RememberedOptions {
            source: self.source.or(others.source),
            partial: self.partial.or(others.partial),
            verify: self.verify.or(others.verify),
            expand_archives: self.expand_archives.or(others.expand_archives),
            link_mode: self.link_mode.or(others.link_mode),
            descriptions: self.descriptions.or(others.descriptions),
        }
    }

    /// Returns these options without those that `others` set.
    #[must_use]
    pub fn without(self, others: &RememberedOptions) -> RememberedOptions {
        fn unless<T, U>(value: Option<T>, other: &Option<U>) -> Option<T> {
            value.filter(|_| other.is_none())
        }
        RememberedOptions {
            source: unless(self.source, &others.source),
            partial: unless(self.partial, &others.partial),
            verify: unless(self.verify, &others.verify),
            expand_archives: unless(self.expand_archives, &others.expand_archives),
            link_mode: unless(self.link_mode, &others.link_mode),
            descriptions: unless(self.descriptions, &others.descriptions),
        }
    }

    /// Returns these options without those that have their default value.
    #[must_use]
    pub fn without_defaults(self) -> RememberedOptions {
        fn unless_default<T: Default + PartialEq>(value: Option<T>) -> Option<T> {
            value.filter(|value| *value != T::default())
        }
        RememberedOptions {
            partial: unless_default(self.partial),
            verify: unless_default(self.verify),
            expand_archives: unless_default(self.expand_archives),
            link_mode: unless_default(self.link_mode),
            ..self
        }
    }
}

/// Records the origin of the tree that was published under `key`. Keeps facts that were recorded earlier for the same
/// tree. If another process is publishing, or has published another tree, nothing is recorded, because that process
/// records its own origin.
///
/// # Errors
/// If the manifest cannot be read or written.
pub fn record_origin(
    data_dir: &Path,
    competition: &str,
    key: &Digest,
    origin: DataOrigin,
) -> Result<(), StepError> {
    update(data_dir, competition, Some(key), |manifest| {
        let origin = match &manifest.origin {
            Some(before) => origin.or(before),
            None => origin,
        };
        manifest.origin = Some(origin);
    })
}

/// Records how a complete tree was prepared. `change` returns the record, given the earlier record of the same tree. If
/// `key` is given, nothing is recorded for a tree with a different key, as by [`record_origin`].
///
/// # Errors
/// If the manifest cannot be read or written.
pub fn record_preparation(
    data_dir: &Path,
    competition: &str,
    key: Option<&Digest>,
    change: impl FnOnce(Option<PreparationRecord>) -> PreparationRecord,
) -> Result<(), StepError> {
    update(data_dir, competition, key, |manifest| {
        manifest.preparation = Some(change(manifest.preparation.take()));
    })
}

fn update(
    data_dir: &Path,
    competition: &str,
    key: Option<&Digest>,
    change: impl FnOnce(&mut Manifest),
) -> Result<(), StepError> {
    let home = data_dir.join(competition);
    let Some(_lock) = prep_cache::try_lock_file(&lock_file(&home))? else {
        return Ok(());
    };
    let manifest = Manifest::read(data_dir, competition).map_err(StepError::machine)?;
    let is_same = |one: &Manifest| one.complete && key.is_none_or(|key| one.key == *key);
    let Some(mut manifest) = manifest.filter(is_same) else {
        return Ok(());
    };
    let before = manifest.clone();
    change(&mut manifest);
    match manifest == before {
        true => Ok(()),
        false => {
            let written = manifest.write_with_old_time(&home);
            written.map_err(StepError::machine)
        }
    }
}
