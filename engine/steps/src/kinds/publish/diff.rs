//! Computes the files to write and to remove, so that the published tree equals the desired one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use prep_core::{Context, StepError};

use super::PublishError;
use super::listing::{PublishedListing, WrittenFile};
use crate::value::{BETWEEN_CHECKS, Tree};

/// The differences between the desired and the published tree.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// For each desired file, by its index: its record if it is already published.
    pub kept: Vec<Option<WrittenFile>>,
    /// Indices of the desired files that must be written.
    pub write: Vec<u32>,
    /// Directories that must exist, parents first.
    pub folders: BTreeSet<String>,
    /// Files to remove, relative to `prepared`.
    pub remove: Vec<PathBuf>,
    /// Directories to remove, innermost first.
    pub remove_folders: Vec<PathBuf>,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.write.is_empty() && self.remove.is_empty() && self.remove_folders.is_empty()
    }

    /// Total bytes to write.
    pub(super) fn bytes(&self, desired: &Tree) -> u64 {
        let files = self.write.iter();
        let bytes = files.filter_map(|place| Some(desired.file(*place as usize)?.bytes()));
        bytes.sum()
    }
}

/// Compares the desired tree with the listing and the disk.
pub(super) fn compare(
    context: &Context,
    desired: &Tree,
    old: &PublishedListing,
    prepared: &Path,
) -> Result<Changes, StepError> {
    let mut changes = Changes {
        kept: vec![None; desired.len()],
        ..Changes::default()
    };
    for section in ["public", "private"] {
        changes.folders.insert(section.to_owned());
    }
    for (place, file) in (0..).zip(desired.files()) {
        if file.index().is_multiple_of(BETWEEN_CHECKS) {
            context.check()?;
        }
        let mut folder = match file.is_folder() {
            false => parent(file.path()),
            true => Some(file.path()),
        };
        while let Some(path) = folder {
            if changes.folders.contains(path) {
                break;
            }
            changes.folders.insert(path.to_owned());
            folder = parent(path);
        }
        if file.is_folder() {
            continue;
        }
        let listed = old
            .with_same_origin(&file)
            .filter(|listed| listed.is_untouched(&prepared.join(file.path())));
        match (listed, changes.kept.get_mut(file.index())) {
            (Some(listed), Some(kept)) => *kept = Some(listed.written),
            _ => changes.write.push(place),
        }
    }
    if prepared.exists() {
        collect_surplus(context, prepared, Path::new(""), desired, &mut changes)?;
    }
    Ok(changes)
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

/// Collects files and directories below `prepared` that are not in the desired tree. This includes names that are not
/// UTF-8.
fn collect_surplus(
    context: &Context,
    prepared: &Path,
    inner: &Path,
    desired: &Tree,
    changes: &mut Changes,
) -> Result<(), StepError> {
    let path = prepared.join(inner);
    let failed = PublishError::io("look at", &path);
    for (number, entry) in fs::read_dir(&path).map_err(&failed)?.enumerate() {
        if number.is_multiple_of(BETWEEN_CHECKS) {
            context.check()?;
        }
        let entry = entry.map_err(&failed)?;
        let inner = inner.join(entry.file_name());
        if entry.file_type().map_err(&failed)?.is_dir() {
            collect_surplus(context, prepared, &inner, desired, changes)?;
            if !inner
                .to_str()
                .is_some_and(|name| changes.folders.contains(name))
            {
                changes.remove_folders.push(inner);
            }
        } else {
            let wanted = inner.to_str().and_then(|name| desired.find(name));
            if wanted.is_none_or(|wanted| wanted.is_folder()) {
                changes.remove.push(inner);
            }
        }
    }
    Ok(())
}
