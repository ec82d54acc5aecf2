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

pub use base::BaseFile;
pub(crate) use compact::{CompactReader, TextList, write_difference, write_number, write_text};
pub use content::{ContentError, ContentRef, OpenContent, Opener};
pub(crate) use layout::{OutputLayout, below_a_file};
pub use positions::RowPositions;
pub(crate) use read_ahead::fill;
pub(crate) use sort::sorted;
pub(crate) use stored_text::{StoredText, TextMetadata, max_mapped_bytes};
pub use table::{TableStorage, TableValue};
pub(crate) use table_writer::TableWriter;
pub(crate) use text_writer::{InMemoryText, TextWriter};
pub(crate) use tree::{BETWEEN_CHECKS, ContentOrigin, memory_of_trees};
pub use tree::{Tree, TreeBuilder, TreeEntry, TreeError, TreeFile};

use std::sync::Arc;

use prep_core::{Context, Inputs, StepError, Value};

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

/// Decodes a value's body.
pub(crate) fn decode<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, StepError> {
    serde_json::from_value(value.body.clone()).map_err(|error| {
        StepError::internal(format!(
            "a stored value has an unexpected structure: {error}"
        ))
    })
}
