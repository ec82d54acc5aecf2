//! Inputs and outputs of steps, and errors for files that do not exist.

use std::collections::BTreeSet;
use std::sync::Arc;

use prep_core::{Context, Failure, FileValue, Inputs, Remedy, StepError, Value, WithRemedy};
use prep_spec::{joined, nearest, split_source};
use thiserror::Error;

use super::{ContentRef, Tree};
use crate::located::{Subject, error_at_with_help};

/// Name of the only output of most kinds.
pub(crate) const VALUE_OUTPUT: &str = "value";

/// Name of the input whose rows name the files that the step reads.
pub(crate) const FILES_INPUT: &str = "files";

/// Prefix of inputs that are trees. Names of tables cannot contain it.
pub(crate) const TREE_PREFIX: &str = "tree:";

/// Returns an input. It is a defect of the graph if the input is missing.
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

/// Loads the only input that is a tree. It is a defect of the graph if there are none.
pub(crate) fn only_tree(context: &Context, inputs: &Inputs) -> Result<Arc<Tree>, StepError> {
    let first = trees(context, inputs)?.into_iter().next();
    first.ok_or_else(|| StepError::internal("a step lacks its tree"))
}

/// Returns the content of an output that is a single file, or a tree with one file.
pub(crate) fn single_file(context: &Context, value: &Value) -> Result<ContentRef, StepError> {
    if let Ok(file) = FileValue::from_value(value) {
        return Ok(file.into());
    }
    let tree = Tree::load(context, value)?;
    let content = tree.files().find_map(|file| file.content());
    content.ok_or_else(|| StepError::internal("an output is not a single file"))
}

#[derive(Debug, Error)]
#[error("{} has no `{}`", source_and_path(.0).0, source_and_path(.0).1)]
struct MissingFile(String);

/// To find a suggestion for a missing path, at most this number of paths is compared with it.
const MAX_COMPARED: usize = 20_000;

/// If no path is similar, the help lists at most this number of paths, and counts the others.
const MAX_LISTED: usize = 5;

/// Returns the error for a missing path, with a suggestion. `key` is the key that names the path, if any.
pub(crate) fn missing_file(tree: &Tree, path: &str, key: Option<&'static str>) -> StepError {
    let error = MissingFile(path.to_owned());
    let help = similar_path(tree, path);
    match key {
        Some(key) => error_at_with_help(Failure::Input, Subject::Key(key), error, help),
        None => StepError::input(WithRemedy::attach(error, help.map(Remedy::Words))),
    }
}

/// Suggests a path whose last part equals that of `path` except for case. If there is no such path, suggests a similar
/// path. If no path is similar either, lists some paths. `path` may be a directory (`x/`).
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

/// Returns the directories that contain a file, each with a final `/`.
fn directories(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..=at])
}

/// Returns the last part of a path. For a directory, it ends in `/`.
fn name(path: &str) -> &str {
    let inner = path.strip_suffix('/').unwrap_or(path);
    &path[inner.rfind('/').map_or(0, |at| at + 1)..]
}

/// Returns the content of the file at `path`. If the file is missing, the error has the location of the key `key`.
pub(crate) fn file_content(
    tree: &Tree,
    path: &str,
    key: &'static str,
) -> Result<ContentRef, StepError> {
    tree.get(path)
        .ok_or_else(|| missing_file(tree, path, Some(key)))
}

/// Returns the name of a path's source, such as `the bundle`, and the path in it.
pub(crate) fn source_and_path(path: &str) -> (String, &str) {
    match split_source(path) {
        (Some(source), inner) => (format!("the source `{source}`"), inner),
        (None, path) => ("the bundle".to_owned(), path),
    }
}
