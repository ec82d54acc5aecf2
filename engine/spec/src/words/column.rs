//! Declared columns and their types.

use crate::text::diagnostic::Spanned;

/// A declared column. Queries may rely on its type: a file that does not conform to it is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The column's name.
    pub name: Spanned<String>,
    /// The column's type.
    pub kind: ColumnKind,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// Text as it is in the file.
    Text,
    /// A 64-bit integer.
    Integer,
    /// A double.
    Number,
    /// `True` or `False`.
    Boolean,
    /// A JSON value.
    Json,
    /// The type that pandas infers from the entire column.
    Inferred,
}

impl ColumnKind {
    /// Returns the name of the type in the pipeline language.
    pub fn name(self) -> &'static str {
        match self {
            ColumnKind::Text => "text",
            ColumnKind::Integer => "integer",
            ColumnKind::Number => "number",
            ColumnKind::Boolean => "boolean",
            ColumnKind::Json => "json",
            ColumnKind::Inferred => "inferred",
        }
    }
}
