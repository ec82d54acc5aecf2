//! Inputs and outputs of steps, and errors for files that do not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prep_core::{Context, Failure, FileValue, Inputs, StepError, Value};
use prep_spec::{FilePattern, joined, nearest, path_glob, split_source};
use thiserror::Error;

use super::{ContentRef, Tree};
use crate::located::{Subject, error_at_with_help};

/// Name of the only output of most kinds of steps.
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

/// Returns the error for a missing path, with a suggestion. `key` is the key of the declaration that contains `path`.
/// `path` may be a pattern.
pub(crate) fn missing_file(tree: &Tree, path: &str, key: &'static str) -> StepError {
    let error = MissingFile(path.to_owned());
    let help = match is_pattern(path).then(|| nearest_pattern(tree, path)) {
        Some(Some(similar)) => Some(format!("did you mean `{similar}`?")),
        _ => similar_path(tree, path),
    };
    error_at_with_help(Failure::Input, Subject::Key(key), error, help)
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

/// If a pattern matches no file, at most this number of files is searched for similar patterns.
const MAX_COMPARED_WITH_PATTERN: usize = 50_000;

/// The search for similar patterns collects at most this number of patterns. The help suggests one of them.
const MAX_PATTERNS: usize = 200;

/// Returns a pattern that is similar to `pattern` and matches a file. Prefers one with few edits, then one that matches
/// many files.
pub(crate) fn nearest_pattern(tree: &Tree, pattern: &str) -> Option<String> {
    let mut similar: BTreeMap<String, usize> = BTreeMap::new();
    let files = tree.files().filter(|file| !file.is_directory());
    for file in files.take(MAX_COMPARED_WITH_PATTERN) {
        let found = similar_pattern(pattern, file.path());
        if let Some(found) =
            found.filter(|found| similar.len() < MAX_PATTERNS || similar.contains_key(found))
        {
            *similar.entry(found).or_default() += 1;
        }
    }
    let most = || similar.iter().max_by_key(|(_, count)| **count);
    let nearest = nearest(pattern, similar.keys().map(String::as_str));
    let found = nearest.or_else(|| most().map(|(found, _)| found.as_str()));
    found.map(str::to_owned)
}

fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

/// Returns a pattern that matches `path`. Takes segments with wildcards from `pattern`, and other segments and the extension
/// from `path`. `path` may begin with one more directory than `pattern`. Returns `None` if there is no such pattern, or if
/// `pattern` contains `**`.
fn similar_pattern(pattern: &str, path: &str) -> Option<String> {
    let wanted: Vec<&str> = pattern.split('/').collect();
    let existing: Vec<&str> = path.split('/').collect();
    let last = wanted.len() - 1;
    if wanted.contains(&"**") {
        return None;
    }
    if existing.len() == wanted.len() + 1 {
        // `first` is the additional directory, for example the name of an archive.
        let (first, rest) = path.split_once('/')?;
        let found = similar_pattern(pattern, rest)?;
        return Some(format!("{first}/{found}"));
    }
    if wanted.len() != existing.len() {
        return None;
    }
    let segments = wanted.iter().zip(existing).enumerate();
    let segments = segments.map(|(at, (wanted, existing))| match is_pattern(wanted) {
        false => existing.to_owned(),
        true if at < last => (*wanted).to_owned(),
        true => match (wanted.rsplit_once('.'), existing.rsplit_once('.')) {
            (Some((stem, _)), Some((_, suffix))) => format!("{stem}.{suffix}"),
            _ => (*wanted).to_owned(),
        },
    });
    let found = segments.collect::<Vec<_>>().join("/");
    let parsed = FilePattern::parse(&found).ok()?;
    let glob = path_glob(&parsed.glob).ok()?;
    let (_, inner) = split_source(path);
    glob.compile_matcher().is_match(inner).then_some(found)
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
    tree.get(path).ok_or_else(|| missing_file(tree, path, key))
}

/// Returns the name of a path's source, such as `the bundle`, and the path in it.
pub(crate) fn source_and_path(path: &str) -> (String, &str) {
    match split_source(path) {
        (Some(source), inner) => (format!("the source `{source}`"), inner),
        (None, path) => ("the bundle".to_owned(), path),
    }
}
