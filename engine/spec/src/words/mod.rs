//! The vocabulary of the pipeline language: the types that describe sections, keys and values, and the descriptions of
//! all sections and keys.
//!
//! The parser, the JSON Schema and the reference use the same descriptions, so they cannot contradict each other. Kinds
//! of tables and outputs are defined where each kind is implemented. Callers pass them in as a [`Vocabulary`] of
//! [`KindSpec`]s. `prep-grade` uses the same types to describe the parameters of rules and metrics.

pub(crate) mod declaration;
mod kind;
pub(crate) mod pipeline;
pub(crate) mod query;
pub mod reference;
pub mod schema;

pub use kind::{CellContent, KindSpec, ProducedColumn, Produces, Vocabulary};
pub use pipeline::CHECKS;
pub use pipeline::{BUNDLE, GRADE, MAX_CORRECTIONS, PIPELINE, SOURCE, VARIANTS};

/// A mapping with a fixed set of keys.
#[derive(Debug)]
pub struct Section {
    /// The section's name in messages, such as "the bundle".
    pub name: &'static str,
    /// The section's description in the reference.
    pub doc: &'static str,
    /// The section's keys, in the order of the reference.
    pub keys: &'static [SectionKey],
}

impl Section {
    /// Returns the first key, which distinguishes a section from its alternatives.
    pub fn head(&self) -> &'static str {
        self.keys.first().map_or("", |key| key.name)
    }

    /// Returns the key with this name.
    pub fn key(&self, name: &str) -> Option<&'static SectionKey> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// One key of a section.
#[derive(Debug)]
pub struct SectionKey {
    /// The key's name.
    pub name: &'static str,
    /// Whether the key must exist.
    pub required: bool,
    /// The type of the key's value.
    pub value: KeyType,
    /// The key's description in the reference.
    pub doc: &'static str,
    /// An example value in YAML, on one line.
    pub example: &'static str,
}

impl SectionKey {
    /// Creates a required key.
    pub const fn required(
        name: &'static str,
        value: KeyType,
        doc: &'static str,
        example: &'static str,
    ) -> Self {
        Self {
            required: true,
            ..Self::optional(name, value, doc, example)
        }
    }

    /// Creates an optional key.
    pub const fn optional(
        name: &'static str,
        value: KeyType,
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

/// A word of a fixed list of words.
#[derive(Debug, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub name: &'static str,
    /// The word's description in the reference.
    pub doc: &'static str,
}

/// The type of a key's value.
#[derive(Debug)]
pub enum KeyType {
    /// A text.
    Text,
    /// An MD5: 32 hexadecimal digits.
    Md5,
    /// A SHA-256: 64 hexadecimal digits.
    Sha256,
    /// An http or https URL.
    Url,
    /// A query whose rows are ordered.
    Rows,
    /// A query whose rows are ordered and may contain documents with binaries in other files.
    Documents,
    /// A query with the columns `file` (content) and `path` (destination), in any order.
    Placed,
    /// Queries with names. Their rows are ordered.
    Queries,
    /// A query with one text column, and optionally one boolean column.
    Lines,
    /// A query with only the column `record` of a table that was read from an array.
    Entries,
    /// A query that must return no row.
    Set,
    /// The path of an output: relative, with `/` between its segments.
    Path,
    /// A path in the bundle, or in another source.
    Source,
    /// A [`KeyType::Source`], or a list of such paths that declares one output for each.
    Copied,
    /// A path in the bundle or in another source, with wildcards.
    Sources,
    /// The name of a table.
    Table,
    /// The name of a table whose column `file` contains files of the bundle.
    Files,
    /// The name of a table that is drawn from a generator.
    Drawn,
    /// The name of a column of the table that another key names.
    Column,
    /// One ASCII character, or `tab`.
    Delimiter,
    /// An integer that is not negative.
    Natural,
    /// An integer from 0 to 4294967295.
    Seed,
    /// A number: a fraction if it has a decimal point, otherwise a number of rows.
    Share,
    /// A [`KeyType::Share`], or a query with one value.
    Size,
    /// A text or a number, or a query with one value.
    Value,
    /// The value `true`.
    True,
    /// One of these words.
    Word(&'static [Word]),
    /// The name of one of the kind's methods.
    Method,
    /// A list of strings without duplicates.
    Texts,
    /// A list of names without duplicates, or `{ list: NAME }`.
    Names,
    /// A list of names, or a mapping from names to types.
    Columns,
    /// A mapping with the keys of this section.
    Section(&'static Section),
    /// Sources with names.
    FurtherSources,
    /// Lists with names.
    Lists,
    /// Optional keys of kinds, by the first key of the kind.
    Defaults,
    /// Tables with names.
    Tables,
    /// A list of mappings, each named by its first key. The value of that key selects one of these sections.
    Items(&'static [&'static Section]),
    /// A number, or the name of a column.
    Operand,
    /// Comparisons of columns and numbers that are joined by AND.
    Condition,
    /// Outputs by their paths.
    Outputs,
    /// Checks with names.
    Checks,
    /// Strings that give reasons, by the name of the subject of each reason.
    Reasons,
    /// The grading section.
    Grade,
    /// The name of a column, a list of names, or all columns except some.
    Selection,
    /// A JSON string: a text that does not look like a number or a boolean, or is in quotes.
    String,
    /// A list of [`KeyType::String`], or `{ list: NAME }`.
    Strings,
    /// A number.
    Number,
    /// A list of numbers.
    Numbers,
    /// A text, or an integer.
    Label,
    /// Numbers with names.
    NumberByName,
    /// True or false.
    Boolean,
    /// One of these words, which the key's description explains.
    Choice(&'static [&'static str]),
    /// Metrics and their weights.
    WeightedMetrics,
    /// Parts of a pipeline, by the names of corrections.
    Corrections,
}

/// The types of columns.
pub static COLUMN_KINDS: &[Word] = &[
    Word {
        name: "text",
        doc: "the cell as it is in the file",
    },
    Word {
        name: "integer",
        doc: "an integer of 64 bits",
    },
    Word {
        name: "number",
        doc: "a double",
    },
    Word {
        name: "boolean",
        doc: "`True` or `False`",
    },
    Word {
        name: "json",
        doc: "a JSON value",
    },
    Word {
        name: "inferred",
        doc: "the type that pandas infers from the entire column. In queries, the value is the text that pandas prints. If a column is only copied to JSON or BSON, it is written as a number or boolean",
    },
];
