//! The names of a step's inputs and outputs, access to inputs, and errors for files that do not exist.

use std::collections::BTreeSet;
use std::sync::Arc;

use prep_core::{Context, Failure, FileValue, Inputs, Remedy, StepError, Value, WithRemedy};
use prep_spec::{joined, nearest, split_source};
use thiserror::Error;

use super::{ContentRef, Tree};
use crate::located::{Subject, error_at_with_help};

/// Name of the only output of most kinds.
pub(crate) const VALUE_OUTPUT: &str = "value";

/// Name of the input with a table of files, for steps that read the files in this table.
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

/// Loads the only tree among the inputs, for a step that reads one path.
///
/// # Errors
/// If the step has no tree as input, which is a defect of the graph.
pub(crate) fn only_tree(context: &Context, inputs: &Inputs) -> Result<Arc<Tree>, StepError> {
    let first = trees(context, inputs)?.into_iter().next();
    first.ok_or_else(|| StepError::internal("a step lacks its tree"))
}

/// Returns the content of an output that is a single file. Its value is a file, or a tree with one file.
pub(crate) fn single_file(context: &Context, value: &Value) -> Result<ContentRef, StepError> {
    if let Ok(file) = FileValue::from_value(value) {
        return Ok(file.into());
    }
    let tree = Tree::load(context, value)?;
    let content = tree.files().find_map(|file| file.content());
    content.ok_or_else(|| StepError::internal("an output is not a single file"))
}

#[derive(Debug, Error)]
#[error("{} has no `{}`", holder(.0).0, holder(.0).1)]
struct MissingFile(String);

/// Maximum number of paths that are compared with a path that does not exist.
const MAX_COMPARED: usize = 20_000;

/// Maximum number of files that the help lists if no path is similar.
const MAX_LISTED: usize = 5;

/// Returns the error for a path that does not exist in its tree. The help suggests a similar path. `key` is the key of the
/// declaration that names the path, or `None` for a step without a declaration.
pub(crate) fn missing_file(tree: &Tree, path: &str, key: Option<&'static str>) -> StepError {
    let error = MissingFile(path.to_owned());
    let help = similar_path(tree, path);
    match key {
        Some(key) => error_at_with_help(Failure::Input, Subject::Key(key), error, help),
        None => StepError::input(WithRemedy::attach(error, help.map(Remedy::Words))),
    }
}

/// Returns the help for a path that does not exist. It suggests a path whose name differs at most in case, or else a
/// similar path, or else some paths of the tree. A path that ends in `/` is compared with directories.
fn similar_path(tree: &Tree, path: &str) -> Option<String> {
    let files = tree.files().map(|file| file.path()).take(MAX_COMPARED);
    let candidates: BTreeSet<&str> = match path.ends_with('/') {
        true => files.flat_map(directories).collect(),
        false => files.collect(),
    };
    let mut all = candidates.iter().copied();
    let same_name = all.find(|other| name(other).eq_ignore_ascii_case(name(path)));
    let similar = same_name.or_else(|| nearest(path, candidates.iter().copied()));
    let paths = candidates.iter().map(|path| format!("`{path}`"));
    match similar {
        Some(similar) => Some(format!("did you mean `{similar}`?")),
        None if candidates.is_empty() => None,
        None => Some(format!("name one of {}", joined(paths, MAX_LISTED))),
    }
}

/// Returns the directories that contain the file at `path`, each with a `/` at its end.
fn directories(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..=at])
}

/// Returns the last part of a path, including the `/` at its end if the path is a directory.
fn name(path: &str) -> &str {
    let inner = path.strip_suffix('/').unwrap_or(path);
    &path[inner.rfind('/').map_or(0, |at| at + 1)..]
}

/// Returns the content of the file at `path`, which the key `key` of a declaration names.
pub(crate) fn file_content(
    tree: &Tree,
    path: &str,
    key: &'static str,
) -> Result<ContentRef, StepError> {
    tree.get(path)
        .ok_or_else(|| missing_file(tree, path, Some(key)))
}

/// Returns the name of a path's source for messages, such as `the bundle`, and the path in this source.
pub(crate) fn holder(path: &str) -> (String, &str) {
    match split_source(path) {
        (Some(source), inner) => (format!("the source `{source}`"), inner),
        (None, path) => ("the bundle".to_owned(), path),
    }
}
