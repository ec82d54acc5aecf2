//! The vocabulary: every section and key of the language, as data.
//!
//! The parser takes from these tables which keys there are and which must be there; the JSON Schema and the reference
//! are printed from them. So the three cannot disagree.

mod outputs;
mod pipeline;
mod split;
mod tables;

pub use outputs::{OUTPUT, OUTPUTS, QUOTING};
pub use pipeline::{BUNDLE, GRADE, PIPELINE, VARIANTS};
pub use split::{METHODS, SPLIT};
pub use tables::{COLUMN_KINDS, FLOAT_PRECISION, FORMATS, TABLE, TABLES};

/// A mapping with a fixed set of keys.
#[derive(Debug)]
pub struct Section {
    /// What a message calls it: "the bundle".
    pub name: &'static str,
    pub doc: &'static str,
    pub keys: &'static [Key],
}

impl Section {
    /// The key by which a section among alternatives is told.
    pub fn head(&self) -> &'static str {
        self.keys.first().map_or("", |key| key.name)
    }

    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// One key of a section.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub required: bool,
    pub value: Value,
    pub doc: &'static str,
    /// YAML of a value, on one line.
    pub example: &'static str,
}

impl Key {
    const fn required(
        name: &'static str,
        value: Value,
        doc: &'static str,
        example: &'static str,
    ) -> Self {
        Self {
            name,
            required: true,
            value,
            doc,
            example,
        }
    }

    const fn optional(
        name: &'static str,
        value: Value,
        doc: &'static str,
        example: &'static str,
    ) -> Self {
        Self {
            name,
            required: false,
            value,
            doc,
            example,
        }
    }
}

/// One word of a closed list.
#[derive(Debug)]
pub struct Word {
    pub name: &'static str,
    pub doc: &'static str,
}

/// What stands behind a key.
#[derive(Debug)]
pub enum Value {
    Text,
    /// 32 hex digits.
    Md5,
    /// SQL.
    Query,
    /// A relative path with `/` between its segments.
    Path,
    /// A path with wildcards.
    Glob,
    /// The name of a table.
    Table,
    /// The name of a column.
    Column,
    /// One ASCII character, or `tab`.
    Delimiter,
    /// A whole number from 0.
    Natural,
    /// A number.
    Number,
    /// A number (a fraction when it has a point, else a count) or a query with one value.
    Size,
    /// The word `true`.
    True,
    Word(&'static [Word]),
    /// The name of a split method.
    Method,
    /// A list of different texts.
    Texts,
    /// A list of names, or a mapping from names to types.
    Columns,
    /// Two names of tables.
    Pair,
    Section(&'static Section),
    /// A mapping whose keys the author chooses.
    Map {
        /// What the keys are: "a table's name".
        key: &'static str,
        value: &'static Value,
    },
    /// One of several sections, told by their first keys; or a query.
    QueryOr(&'static [&'static Section]),
    /// An archive's outputs.
    Members,
    Split,
    Grade,
    /// Any part of a pipeline.
    Patch,
}
