//! `expand`: unpacks the archives of an output.
//!
//! `train.zip` becomes the directory `train`. If the archive already has all members in a directory `train`, no second
//! directory `train` is added around them. Nested archives stay packed. The step changes only the published files, not the
//! outputs and their checksums.

use prep_core::{Context, Remedy, StepError, WithRemedy};
use thiserror::Error;

use super::function_step::FunctionStep;
use super::unpack::{self, is_archive};
use crate::value::{ContentRef, Opener, Tree, TreeBuilder, input, memory_of_trees, single_file};

pub(crate) const ARCHIVE_INPUT: &str = "output";

/// Whether archives are unpacked, and whether they stay published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expand {
    /// Archives stay packed.
    #[default]
    No,
    /// The directory is published next to the archive.
    Beside,
    /// The directory replaces the archive.
    Instead,
}

impl Expand {
    /// Returns whether archives stay packed.
    pub fn is_no(&self) -> bool {
        *self == Expand::No
    }
}

#[derive(Debug, Error)]
#[error("`{archive}` cannot be unpacked, because the output already contains `{path}`")]
struct ExpandCollision {
    archive: String,
    path: String,
}

/// Creates the step that unpacks an output: the archive named `archive`, or if `None`, the archives in a directory.
pub(crate) fn expand_archives(archive: Option<String>, mode: Expand) -> FunctionStep {
    let params = serde_json::json!({ "archive": archive, "what": mode });
    let function = FunctionStep::new("expand", 4, params, move |context, inputs| {
        let value = input(inputs, ARCHIVE_INPUT)?;
        let opener = Opener::new(context);
        let mut files = TreeBuilder::default();
        match &archive {
            Some(name) => {
                let content = single_file(context, value)?;
                let (inside, target) = unpacked(context, &opener, name, &content)?;
                add(&mut files, name, &inside, &target, None)?;
            }
            None => {
                let tree = Tree::load(context, value)?;
                for file in tree.files() {
                    let (path, content) = (file.path(), file.content());
                    let Some(content) = content.filter(|_| is_archive(path)) else {
                        files.push_file(path, file);
                        continue;
                    };
                    if mode == Expand::Beside {
                        files.push_file(path, file);
                    }
                    let (inside, target) = unpacked(context, &opener, path, &content)?;
                    add(&mut files, path, &inside, &target, Some(&tree))?;
                }
            }
        }
        let tree = files.finish(&context.cancel);
        tree.map_err(StepError::input)?.save(context)
    });
    function.memory(|inputs| (32 << 20) + 2 * memory_of_trees(inputs))
}

/// Returns the members of the archive `path`, and the directory in which the members are published. The path of each
/// member begins with `path`.
fn unpacked(
    context: &Context,
    opener: &Opener,
    path: &str,
    content: &ContentRef,
) -> Result<(Tree, String), StepError> {
    let inside = unpack::members(context, opener, content, path)?;
    let inside = inside.finish(&context.cancel).map_err(StepError::input)?;
    let directory = unpack::without_suffix(path);
    let (parent, directory_name) = directory.rsplit_once('/').unwrap_or(("", directory));
    let has_own_directory = !inside.is_empty()
        && inside.files().all(|file| {
            let rest = path_within(file.path(), path).strip_prefix(directory_name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
    let target = if has_own_directory { parent } else { directory };
    Ok((inside, target.to_owned()))
}

/// Removes the path of the archive from the path of its member.
fn path_within<'a>(path: &'a str, archive: &str) -> &'a str {
    path.get(archive.len() + 1..).unwrap_or_default()
}

/// Adds the members of an archive to `files`, at paths in the directory `target`. `beside` is the output directory that
/// contains the archive, if any. A member whose path already exists in `beside` is an error.
fn add(
    files: &mut TreeBuilder,
    archive: &str,
    inside: &Tree,
    target: &str,
    beside: Option<&Tree>,
) -> Result<(), StepError> {
    if inside.is_empty() {
        // An empty archive becomes an empty directory.
        let exists = |tree: &Tree| {
            let existing = tree
                .find(target)
                .is_some_and(|existing| existing.is_directory());
            existing || tree.with_prefix(&format!("{target}/")).next().is_some()
        };
        if !beside.is_some_and(exists) {
            files.push(target, None);
        }
        return Ok(());
    }
    let mut path = String::new();
    for file in inside.files() {
        path.clear();
        path.push_str(target);
        if !target.is_empty() {
            path.push('/');
        }
        path.push_str(path_within(file.path(), archive));
        let existing = beside.and_then(|tree| tree.find(&path));
        match existing {
            None => files.push_file(&path, file),
            // The archive and the output may contain the same directory, because some competitions publish an archive next
            // to unpacked files.
            Some(existing) if existing.is_directory() && file.is_directory() => {}
            Some(_) => {
                let (archive, path) = (archive.to_owned(), path);
                let error = ExpandCollision { archive, path };
                return Err(StepError::input(WithRemedy::new(
                    error,
                    Remedy::KeepArchives,
                )));
            }
        }
    }
    Ok(())
}
