//! Determines the type of a column from the types of its blocks, as pandas does by concatenating them.

use crate::pandas::ColumnType;
use crate::pandas::types::infer::{BlockResult, BlockType};

/// The result of concatenating the blocks of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum JoinedType {
    /// All `int64`.
    Int,
    /// All `uint64`.
    UInt,
    /// Numbers of several types, or all `float64`.
    Float,
    /// Booleans, possibly with missing cells.
    Bool,
    /// Objects. Each block keeps its values.
    Object,
    /// Objects. Booleans are converted to the integers 0 and 1.
    ObjectOfIntegers,
    /// Objects. All values are converted to floats.
    ObjectOfFloats,
    /// A requested type.
    Forced(ColumnType),
}

impl JoinedType {
    /// Joins the blocks of a column. A column without rows consists of objects.
    pub fn join(blocks: &[BlockResult]) -> Self {
        let has = |wanted: &[BlockType]| blocks.iter().any(|block| wanted.contains(&block.kind));
        let int = has(&[BlockType::Int]);
        let uint = has(&[BlockType::UInt]);
        let float = has(&[BlockType::Float, BlockType::IntGaps]);
        let bool = has(&[BlockType::Bool]);
        let gaps = has(&[BlockType::BoolGaps]);
        let text = has(&[BlockType::Text, BlockType::RawText]);
        match (int, uint, float, bool, gaps || text) {
            (true, false, false, false, false) => Self::Int,
            (false, true, false, false, false) => Self::UInt,
            (_, _, true, false, false) | (true, true, false, false, false) => Self::Float,
            (false, false, false, _, true) if !text => Self::Bool,
            (false, false, false, true, false) => Self::Bool,
            // NumPy converts booleans to numbers if the column also has numbers. Only then does pandas convert all
            // values to objects.
            (_, _, true, true, false) | (true, true, false, true, false) => Self::ObjectOfFloats,
            (_, _, false, true, false) => Self::ObjectOfIntegers,
            _ => Self::Object,
        }
    }

    /// The type of the column in a [`Schema`](crate::pandas::Schema).
    pub fn column_type(self) -> ColumnType {
        match self {
            Self::Int => ColumnType::Int64,
            Self::UInt => ColumnType::UInt64,
            Self::Float => ColumnType::Float64,
            Self::Bool => ColumnType::Bool,
            Self::Object | Self::ObjectOfIntegers | Self::ObjectOfFloats => ColumnType::Text,
            Self::Forced(kind) => kind,
        }
    }

    /// Whether a block of type `kind` is formatted in this column in the same way as on its own.
    pub fn preserves(self, kind: BlockType) -> bool {
        match self {
            Self::Float => !matches!(kind, BlockType::Int | BlockType::UInt),
            Self::ObjectOfIntegers => kind != BlockType::Bool,
            Self::ObjectOfFloats => false,
            _ => true,
        }
    }
}
