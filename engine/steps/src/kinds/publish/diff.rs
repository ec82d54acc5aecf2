//! Compares a prepared directory with the new tree, to find the files to write, the files to remove, and the files of
//! other programs, which stay in place.
//!
//! A publication removes only what an earlier one wrote: a path of the listing, or a directory of the manifest. Everything
//! else in the directory belongs to another program, for example files that an agent unpacked. It stays unless the caller
//! requests its removal. A path of the new tree is always written, because a publication replaces files of other programs
//! that have the same path.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use prep_core::{Context, StepError};

use super::PublishError;
use super::listing::{PublishedListing, WrittenFile};
use super::unpublished::Unpublished;
use crate::value::{BETWEEN_CHECKS, Tree};

/// The difference between the new tree and a prepared directory.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// For each file of the new tree, the stamp of the file on disk if that file is already correct.
    pub kept: Vec<Option<WrittenFile>>,
    /// Indices of the files of the new tree that have to be written, in order.
    pub write: Vec<u32>,
    /// Directories that must exist, parents first.
    pub directories: BTreeSet<String>,
    /// Files to remove, below `prepared`.
    pub remove: Vec<PathBuf>,
    /// Directories to remove, innermost first.
    pub remove_directories: Vec<PathBuf>,
    /// Files and directories of other programs, which stay.
    pub unpublished: Unpublished,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.write.is_empty() && self.remove.is_empty() && self.remove_directories.is_empty()
    }

    /// Total length of the files to write, in bytes.
    pub(super) fn bytes(&self, desired: &Tree) -> u64 {
        let files = self.write.iter();
        let bytes = files.filter_map(|index| Some(desired.file(*index as usize)?.bytes()));
        bytes.sum()
    }
}

/// Files and directories that earlier publications wrote into a prepared directory.
pub(super) struct Published<'a> {
    pub listing: &'a PublishedListing,
    /// Paths of directories. The parents of listed files may be missing.
    pub directories: &'a BTreeSet<&'a str>,
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

/// Compares the new tree with the directory `prepared`. Files of other programs stay, unless `remove_others` is true.
///
/// # Errors
/// If the directory cannot be read, or if a file or directory of another program is in the way of the new tree.
pub(super) fn compare(
    context: &Context,
    desired: &Tree,
    published: &Published<'_>,
    prepared: &Path,
    remove_others: bool,
) -> Result<Changes, StepError> {
    let mut changes = Changes {
        kept: vec![None; desired.len()],
        ..Changes::default()
    };
    for section in ["public", "private"] {
        changes.directories.insert(section.to_owned());
    }
    for (index, file) in (0..).zip(desired.files()) {
        if file.index().is_multiple_of(BETWEEN_CHECKS) {
            context.check()?;
        }
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
        let listed = published
            .listing
            .with_same_origin(&file)
            .filter(|listed| listed.is_untouched(&prepared.join(file.path())));
        match (listed, changes.kept.get_mut(file.index())) {
            (Some(listed), Some(kept)) => *kept = Some(listed.written),
            _ => changes.write.push(index),
        }
    }
    if prepared.exists() {
        let surplus = Surplus {
            context,
            prepared,
            desired,
            published,
            remove_others,
        };
        surplus.search(Path::new(""), &mut changes)?;
    }
    Ok(changes)
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

/// The search for files and directories that the new tree does not have.
struct Surplus<'a> {
    context: &'a Context,
    prepared: &'a Path,
    desired: &'a Tree,
    published: &'a Published<'a>,
    remove_others: bool,
}

impl Surplus<'_> {
    /// Searches the directory `inner` below `prepared`. Returns whether something in it stays. A name that is not UTF-8 is
    /// never in the new tree.
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

    /// Adds a directory to `changes` if it must be removed, or if `prep` did not publish it. Returns whether it stays.
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
            true if self.needs_file(&inner) => Err(PublishError::in_the_way(self.prepared, &inner)),
            true => Ok(true),
            false => {
                changes.remove_directories.push(inner);
                Ok(false)
            }
        }
    }

    /// Adds a file, or anything else that is not a directory, to `changes` if it must be removed, or if `prep` did not
    /// publish it. Returns whether it stays.
    fn visit_file(&self, inner: PathBuf, changes: &mut Changes) -> Result<bool, StepError> {
        if self.needs_file(&inner) {
            return Ok(true);
        }
        if self.remove_others || self.published.has_file(&inner) {
            changes.remove.push(inner);
            return Ok(false);
        }
        if self.needs_directory(&inner, changes) {
            return Err(PublishError::in_the_way(self.prepared, &inner));
        }
        changes.unpublished.add(&inner, false);
        Ok(true)
    }

    fn needs_directory(&self, inner: &Path, changes: &Changes) -> bool {
        inner
            .to_str()
            .is_some_and(|name| changes.directories.contains(name))
    }

    fn needs_file(&self, inner: &Path) -> bool {
        let desired_file = inner.to_str().and_then(|name| self.desired.find(name));
        desired_file.is_some_and(|desired_file| !desired_file.is_directory())
    }
}
