//! Values that steps exchange: files, trees and tables. Each type converts to and from [`prep_core::Value`].

mod compact;
mod content;
pub(crate) mod inputs;
pub(crate) mod layered;
mod layout;
mod positions;
mod read_ahead;
mod stored_text;
mod table;
mod tree;

pub(crate) use compact::{CompactReader, TextList, write_difference, write_number, write_text};
pub use content::{ContentError, ContentRef, OpenContent, Opener};
pub(crate) use inputs::{
    FILES_INPUT, TREE_PREFIX, VALUE_OUTPUT, input, only_tree, single_file, trees,
};
pub(crate) use inputs::{file_content, missing_file, nearest_pattern, source_and_path};
pub(crate) use layered::BaseFile;
pub(crate) use layout::{OutputLayout, below_a_file};
pub(crate) use positions::RowPositions;
pub(crate) use positions::sorted;
pub(crate) use read_ahead::{CHUNK_BYTES, Chunks};
pub(crate) use stored_text::{StoredText, TextMetadata, max_mapped_bytes};
pub(crate) use table::TableWriter;
pub(crate) use table::{InMemoryText, TextWriter};
pub(crate) use table::{TableStorage, TableValue, column};
pub(crate) use tree::{BETWEEN_CHECKS, ContentOrigin, OriginKind, TreeBuilder, memory_of_trees};
pub use tree::{Tree, TreeEntry, TreeError, TreeFile};
