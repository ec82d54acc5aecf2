//! The inputs and outputs of a step, by name, and the errors of files that do not exist.

use std::sync::Arc;

use prep_core::{Context, FileValue, Inputs, StepError, Value};
use prep_spec::split_source;
use thiserror::Error;

use super::{ContentRef, Tree};

/// Name of the only output of most kinds.
pub(crate) const VALUE_OUTPUT: &str = "value";

/// Name of the input with the table of files, for kinds that read the files that a table names.
pub(crate) const FILES_INPUT: &str = "files";

/// Prefix of the names of inputs that are trees. Names of tables cannot contain it.
pub(crate) const TREE_PREFIX: &str = "tree:";

/// Returns the input called `name`.
///
/// # Errors
/// If the input is missing, which is a defect of the graph.
pub(crate) fn input<'a>(inputs: &'a Inputs, name: &str) -> Result<&'a Value, StepError> {
    inputs
        .get(name)
        .ok_or_else(|| StepError::internal(format!("a step lacks its input `{name}`")))
}

/// Loads all inputs that are trees.
pub(crate) fn trees(context: &Context, inputs: &Inputs) -> Result<Vec<Arc<Tree>>, StepError> {
    let trees = inputs
        .iter()
        .filter(|(name, _)| name.starts_with(TREE_PREFIX));
    trees.map(|(_, value)| Tree::load(context, value)).collect()
}

/// Loads the tree of a step that reads one path.
///
/// # Errors
/// If the step has no tree as input, which is a defect of the graph.
pub(crate) fn only_tree(context: &Context, inputs: &Inputs) -> Result<Arc<Tree>, StepError> {
    let first = trees(context, inputs)?.into_iter().next();
    first.ok_or_else(|| StepError::internal("a step lacks its tree"))
}

/// Returns the content of an output that is a single file: an object, or a tree with one file.
pub(crate) fn single_file(context: &Context, value: &Value) -> Result<ContentRef, StepError> {
    if let Ok(file) = FileValue::from_value(value) {
        return Ok(file.into());
    }
    let tree = Tree::load(context, value)?;
    let content = tree.files().find_map(|file| file.content());
    content.ok_or_else(|| StepError::internal("an output is not a single file"))
}

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
