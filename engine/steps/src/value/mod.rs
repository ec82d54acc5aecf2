//! Values that steps exchange: files, trees and tables. Each type is a view of a [`prep_core::Value`].

mod base;
mod compact;
mod content;
pub(crate) mod generator;
mod layered;
pub(crate) mod layers;
mod layout;
mod positions;
mod read_ahead;
mod sort;
mod stored_text;
mod table;
mod table_writer;
mod text_writer;
mod tree;

pub(crate) use base::BaseFile;
pub(crate) use compact::{CompactReader, TextList, write_difference, write_number, write_text};
pub use content::{ContentError, ContentRef, OpenContent, Opener};
pub(crate) use layout::{OutputLayout, below_a_file};
pub(crate) use positions::RowPositions;
pub(crate) use read_ahead::{Chunks, fill};
pub(crate) use sort::sorted;
pub(crate) use stored_text::{StoredText, TextMetadata, max_mapped_bytes};
pub(crate) use table::{TableStorage, TableValue};
pub(crate) use table_writer::TableWriter;
pub(crate) use text_writer::{InMemoryText, TextWriter};
pub(crate) use tree::{BETWEEN_CHECKS, ContentOrigin, OriginKind, TreeBuilder, memory_of_trees};
pub use tree::{Tree, TreeEntry, TreeError, TreeFile};

use std::sync::Arc;

use prep_core::{Context, FileValue, Inputs, StepError, Value};

use crate::kinds::TREE_PREFIX;

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
