//! Second stage of a publication: finds the files to write and to remove.
//!
//! The listing (`prepared.files`) contains the files that publications wrote, and the manifest contains their directories.
//! A publication replaces and removes only these files and directories. Files of other programs stay, unless the caller
//! requests their removal.
//!
//! A file of another program may have the path of an output. If the file and the output have the same bytes, the
//! publication adopts the file. Otherwise the file is in the way, which is an error.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use prep_core::{Context, StepError};

use super::home::PathSummary;
use super::listing::{PublishedListing, WrittenFile};
use super::observe::Observed;
use super::{PublishError, sums, verify};
use crate::value::{BETWEEN_CHECKS, Opener, Tree};

#[derive(Debug, Default)]
pub(super) struct Changes {
    /// For each file of the new tree: metadata of the file on disk, if it already has the correct content.
    pub kept: Vec<Option<WrittenFile>>,
    /// Indices of the files to write, in ascending order.
    pub write: Vec<u32>,
    /// Directories that must exist, parents first.
    pub directories: BTreeSet<String>,
    /// Files to remove, below `prepared`.
    pub remove: Vec<PathBuf>,
    /// Directories to remove, innermost first.
    pub remove_directories: Vec<PathBuf>,
    /// Files and directories of other programs at the path of a new file or directory.
    in_the_way: PathSummary,
    /// Files and directories of other programs that stay.
    pub unpublished: PathSummary,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.write.is_empty() && self.remove.is_empty() && self.remove_directories.is_empty()
    }

    pub(super) fn bytes(&self, desired: &Tree) -> u64 {
        let files = self.write.iter();
        let bytes = files.filter_map(|index| Some(desired.file(*index as usize)?.bytes()));
        bytes.sum()
    }
}

struct Published<'a> {
    listing: &'a PublishedListing,
    /// Directories in the manifest. Directories that contain a listed file may be missing here.
    directories: BTreeSet<&'a str>,
}

impl Published<'_> {
    fn has_file(&self, path: &Path) -> bool {
        path.to_str()
            .is_some_and(|path| self.listing.find(path).is_some())
    }

    fn has_directory(&self, path: &Path) -> bool {
        path.to_str()
            .is_some_and(|path| self.directories.contains(path) || self.listing.has_below(path))
    }
}

/// Compares the new tree with the prepared directory. Fails if files of other programs are in the way of new files. If
/// `remove_others` is true, files of other programs are removed instead.
pub(super) fn compare(
    context: &Context,
    desired: &Tree,
    observed: &Observed,
    remove_others: bool,
) -> Result<Changes, StepError> {
    let published = Published {
        listing: &observed.listing,
        directories: observed
            .manifest
            .iter()
            .flat_map(|one| one.directories())
            .collect(),
    };
    let mut changes = Changes {
        kept: vec![None; desired.len()],
        ..Changes::default()
    };
    for section in ["public", "private"] {
        changes.directories.insert(section.to_owned());
    }
    // Indices of the new files that the listing does not contain. Another program may have written files at their
    // paths.
    let mut foreign = Vec::new();
    for (index, file) in (0..).zip(desired.files()) {
        if file.index().is_multiple_of(BETWEEN_CHECKS) {
            context.check()?;
        }
        // Add the directories that contain the file, innermost first.
        let mut directory = match file.is_directory() {
            false => parent(file.path()),
            true => Some(file.path()),
        };
        while let Some(path) = directory {
            if changes.directories.contains(path) {
                break;
            }
            changes.directories.insert(path.to_owned());
            directory = parent(path);
        }
        if file.is_directory() {
            continue;
        }
        let listed = published.listing.with_same_origin(&file);
        match (listed, changes.kept.get_mut(file.index())) {
            (Some(listed), Some(kept)) => *kept = Some(listed.written),
            _ if !observed.is_fresh && published.listing.find(file.path()).is_none() => {
                foreign.push(index);
            }
            _ => changes.write.push(index),
        }
    }
    if !observed.is_fresh {
        let comparison = Comparison {
            context,
            prepared: &observed.prepared,
            desired,
            published: &published,
            remove_others,
        };
        comparison.adopt(&foreign, &mut changes)?;
        comparison.search(Path::new(""), &mut changes)?;
        changes.write.sort_unstable();
        if !changes.in_the_way.is_empty() {
            let paths = std::mem::take(&mut changes.in_the_way);
            return Err(PublishError::in_the_way(&observed.prepared, paths));
        }
    }
    Ok(changes)
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

struct Comparison<'a> {
    context: &'a Context,
    prepared: &'a Path,
    desired: &'a Tree,
    published: &'a Published<'a>,
    remove_others: bool,
}

impl Comparison<'_> {
    /// Compares each new file whose index is in `indices` with the existing file at the same path. The listing must not
    /// contain these new files. Keeps an existing file if it has the same bytes, and otherwise writes the new file.
    fn adopt(&self, indices: &[u32], changes: &mut Changes) -> Result<(), StepError> {
        let opener = Opener::new(self.context);
        let adopted = self
            .context
            .map_in_order(indices, sums::THREAD_BYTES, |index| {
                self.context.check()?;
                self.adopted(&opener, *index)
            })?;
        for (index, adopted) in indices.iter().zip(adopted) {
            match (adopted, changes.kept.get_mut(*index as usize)) {
                (Some(written), Some(kept)) => *kept = Some(written),
                _ => changes.write.push(*index),
            }
        }
        Ok(())
    }

    /// Returns the metadata of the existing file at the path of a new file, if both have the same bytes.
    fn adopted(&self, opener: &Opener, index: u32) -> Result<Option<WrittenFile>, StepError> {
        let Some(file) = self.desired.file(index as usize) else {
            return Ok(None);
        };
        let path = self.prepared.join(file.path());
        let Ok(metadata) = fs::metadata(&path) else {
            return Ok(None);
        };
        if !metadata.is_file() || metadata.len() != file.bytes() {
            return Ok(None);
        }
        let desired = sums::file_sha256(self.context, opener, file)?;
        let found = verify::hash_file(self.context, &path)?;
        let is_same = found.is_some() && found == desired;
        Ok(is_same.then(|| WrittenFile::new(&metadata, found)))
    }

    /// Decides which files and directories below the directory `inner` of `prepared` are removed, stay, or are in the
    /// way. Returns whether any of them stays.
    fn search(&self, inner: &Path, changes: &mut Changes) -> Result<bool, StepError> {
        let path = self.prepared.join(inner);
        let failed = PublishError::io("inspect", &path);
        let mut stays = false;
        for (number, entry) in fs::read_dir(&path).map_err(&failed)?.enumerate() {
            if number.is_multiple_of(BETWEEN_CHECKS) {
                self.context.check()?;
            }
            let entry = entry.map_err(&failed)?;
            let inner = inner.join(entry.file_name());
            stays |= match entry.file_type().map_err(&failed)?.is_dir() {
                true => self.visit_directory(inner, changes)?,
                false => self.visit_file(inner, changes)?,
            };
        }
        Ok(stays)
    }

    /// Decides whether a directory is removed, stays, or is in the way of a new file. Searches the directory, unless
    /// another program created the directory and no new file needs it. Returns whether the directory stays.
    fn visit_directory(&self, inner: PathBuf, changes: &mut Changes) -> Result<bool, StepError> {
        if self.needs_directory(&inner, changes) {
            self.search(&inner, changes)?;
            return Ok(true);
        }
        let stays = match self.remove_others || self.published.has_directory(&inner) {
            true => self.search(&inner, changes)?,
            false => {
                changes.unpublished.add(&inner, true);
                true
            }
        };
        match stays {
            true if self.needs_file(&inner) => {
                changes.in_the_way.add(&inner, true);
                Ok(true)
            }
            true => Ok(true),
            false => {
                changes.remove_directories.push(inner);
                Ok(false)
            }
        }
    }

    /// Decides whether a path that is not a directory is removed, stays, or is in the way of a new file. Returns `false` if
    /// the path is removed without a replacement.
    fn visit_file(&self, inner: PathBuf, changes: &mut Changes) -> Result<bool, StepError> {
        let is_ours = self.remove_others || self.published.has_file(&inner);
        if let Some(index) = self.desired_file(&inner) {
            let is_kept = changes.kept.get(index).is_some_and(Option::is_some);
            if !is_ours && !is_kept {
                changes.in_the_way.add(&inner, false);
            }
            return Ok(true);
        }
        if is_ours {
            if self.needs_directory(&inner, changes) {
                self.rewrite_below(&inner, changes);
            }
            changes.remove.push(inner);
            return Ok(false);
        }
        match self.needs_directory(&inner, changes) {
            true => changes.in_the_way.add(&inner, false),
            false => changes.unpublished.add(&inner, false),
        }
        Ok(true)
    }

    /// Writes all new files below `inner`. If `inner` is a link to a directory, unchanged files in this directory are lost when
    /// the link is removed.
    fn rewrite_below(&self, inner: &Path, changes: &mut Changes) {
        for (index, file) in (0..).zip(self.desired.files()) {
            let kept = changes.kept.get_mut(file.index());
            if Path::new(file.path()).starts_with(inner)
                && kept.is_some_and(|kept| kept.take().is_some())
            {
                changes.write.push(index);
            }
        }
    }

    /// Returns whether a new file needs the directory `inner`.
    fn needs_directory(&self, inner: &Path, changes: &Changes) -> bool {
        inner
            .to_str()
            .is_some_and(|name| changes.directories.contains(name))
    }

    fn needs_file(&self, inner: &Path) -> bool {
        self.desired_file(inner).is_some()
    }

    /// Returns the index of the new file at the path `inner`, if any.
    fn desired_file(&self, inner: &Path) -> Option<usize> {
        let desired_file = self.desired.find(inner.to_str()?)?;
        (!desired_file.is_directory()).then(|| desired_file.index())
    }
}
