//! Errors about files that a pipeline names and that do not exist.

use prep_spec::split_source;
use thiserror::Error;

use super::{ContentRef, Tree};

#[derive(Debug, Error)]
#[error("{} has no `{}`{}", holder(path).0, holder(path).1, .similar.as_ref().map(|name| format!("; it has `{name}`")).unwrap_or_default())]
pub(crate) struct MissingFile {
    path: String,
    /// A file of the tree whose path differs from `path` only in the directory or in case.
    similar: Option<String>,
}

impl MissingFile {
    pub fn new(tree: &Tree, path: &str) -> MissingFile {
        let mut paths = tree.files().map(|file| file.path());
        let similar = paths.find(|other| name(other).eq_ignore_ascii_case(name(path)));
        MissingFile {
            path: path.to_owned(),
            similar: similar.map(str::to_owned),
        }
    }
}

/// Returns the last part of a path.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Returns the content of the file at `path`.
pub(crate) fn file_content(tree: &Tree, path: &str) -> Result<ContentRef, MissingFile> {
    tree.get(path).ok_or_else(|| MissingFile::new(tree, path))
}

/// Returns the source of a path as messages name it, and the path in that source.
pub(crate) fn holder(path: &str) -> (String, &str) {
    match split_source(path) {
        (Some(source), inner) => (format!("the source `{source}`"), inner),
        (None, path) => ("the bundle".to_owned(), path),
    }
}
