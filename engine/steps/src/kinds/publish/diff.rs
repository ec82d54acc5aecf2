//! What has to be written and removed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use prep_core::StepError;

use super::PublishError;
use super::manifest::{ListedFile, Listing, time};
use crate::value::{Content, Tree, TreeEntry};

/// The difference between what is wanted and what is there.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Files that are there as wanted.
    pub kept: Vec<ListedFile>,
    pub write: Vec<TreeEntry>,
    /// Folders that must exist, parents first.
    pub folders: BTreeSet<String>,
    /// Files that do not belong, below `prepared`.
    pub remove: Vec<PathBuf>,
    /// Folders that do not belong, innermost first.
    pub remove_folders: Vec<PathBuf>,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.write.is_empty() && self.remove.is_empty() && self.remove_folders.is_empty()
    }
}

/// Equal origins have equal contents: an object's digest, or a place in an archive that is named by its digest.
pub(super) fn origin(content: &Content) -> String {
    match content {
        Content::Object { digest, .. } => format!("object:{digest}"),
        Content::Slice {
            base,
            offset,
            bytes,
        } => format!("slice:{base}:{offset}:{bytes}"),
        Content::Member { base, entry } => format!("member:{base}:{}", entry.header_offset),
    }
}

/// Is the file on disk the one that was listed, as far as inode, size and time tell?
pub(super) fn is_untouched(prepared: &Path, file: &ListedFile) -> bool {
    fs::symlink_metadata(prepared.join(&file.path)).is_ok_and(|metadata| {
        metadata.is_file()
            && metadata.len() == file.bytes
            && time(&metadata) == file.time
            && metadata.ino() == file.inode
    })
}

/// Compares the wanted tree with the listing and the disk.
pub(super) fn compare(
    desired: &Tree,
    old: &Listing,
    prepared: &Path,
) -> Result<Changes, StepError> {
    let mut changes = Changes::default();
    for section in ["public", "private"] {
        changes.folders.insert(section.to_owned());
    }
    for entry in desired.entries() {
        let folder = if entry.content.is_some() {
            parent(&entry.path)
        } else {
            Some(entry.path.as_str())
        };
        let mut folder = folder;
        while let Some(path) = folder {
            if !changes.folders.insert(path.to_owned()) {
                break;
            }
            folder = parent(path);
        }
        let Some(content) = &entry.content else {
            continue;
        };
        let wanted = origin(content);
        let listed = old.get(&entry.path).filter(|file| {
            let same = file.origin == wanted
                || matches!(content, Content::Object { digest, .. } if *digest == file.digest);
            same && is_untouched(prepared, file)
        });
        match listed {
            Some(file) => changes.kept.push(ListedFile {
                origin: wanted,
                ..file.clone()
            }),
            None => changes.write.push(entry.clone()),
        }
    }
    if prepared.exists() {
        surplus(prepared, Path::new(""), desired, &mut changes)?;
    }
    Ok(changes)
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

/// Finds what lies below `prepared` without being wanted. A name that is not UTF-8 is not.
fn surplus(
    prepared: &Path,
    inner: &Path,
    desired: &Tree,
    changes: &mut Changes,
) -> Result<(), StepError> {
    let path = prepared.join(inner);
    let failed = |cause| PublishError::io("look at", &path, cause);
    for entry in fs::read_dir(&path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let inner = inner.join(entry.file_name());
        if entry.file_type().map_err(failed)?.is_dir() {
            surplus(prepared, &inner, desired, changes)?;
            if !inner
                .to_str()
                .is_some_and(|name| changes.folders.contains(name))
            {
                changes.remove_folders.push(inner);
            }
        } else if inner.to_str().and_then(|name| desired.get(name)).is_none() {
            changes.remove.push(inner);
        }
    }
    Ok(())
}
