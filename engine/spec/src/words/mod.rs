//! The vocabulary: describes the sections, keys and values of the pipeline language.
//!
//! The parser, the JSON Schema and the reference page use these descriptions. Callers describe the kinds of tables and
//! outputs in a [`Vocabulary`].

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
    /// The name in messages, such as "the bundle".
    pub name: &'static str,
    /// The description in the reference.
    pub doc: &'static str,
    /// The keys in the order of the reference.
    pub keys: &'static [SectionKey],
}

impl Section {
    /// Returns the first key, which identifies the kind or section.
    pub fn head(&self) -> &'static str {
        self.keys.first().map_or("", |key| key.name)
    }

    /// Returns the key with this name.
    pub fn key(&self, name: &str) -> Option<&'static SectionKey> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// A key of a section.
#[derive(Debug)]
pub struct SectionKey {
    /// The name.
    pub name: &'static str,
    /// Whether the key must exist.
    pub required: bool,
    /// The type of the value.
    pub value: KeyType,
    /// The description in the reference.
    pub doc: &'static str,
    /// An example value as one line of YAML.
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

/// A word of a fixed list.
#[derive(Debug, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub name: &'static str,
    /// The description in the reference.
    pub doc: &'static str,
}

/// The type of a key's value.
#[derive(Debug)]
pub enum KeyType {
    /// A string.
    Text,
    /// An MD5: 32 hexadecimal digits.
    Md5,
    /// A SHA-256: 64 hexadecimal digits.
    Sha256,
    /// An http or https URL.
    Url,
    /// A query with ordered rows.
    Rows,
    /// A query with ordered rows. JSON documents in its rows may refer to binaries in other files.
    Documents,
    /// A query with the columns `file` (content) and `path` (destination), in any order.
    Placed,
    /// Queries with ordered rows, by name.
    Queries,
    /// A query with one text column, and optionally one boolean column.
    Lines,
    /// A query with only the column `record` of a table that was read from an array (`.npy`).
    Entries,
    /// A query that must return no row.
    Set,
    /// The path of an output: relative, with `/` as separator.
    Path,
    /// A path in the bundle or in another source.
    Source,
    /// A [`KeyType::Source`], or a list of such paths. Each path of a list becomes an output.
    Copied,
    /// A path with wildcards in the bundle or in another source.
    Sources,
    /// The name of a table.
    Table,
    /// The name of a table whose column `file` contains files of the bundle.
    Files,
    /// The name of a table that was created with a random generator. The table that has this key continues to use the
    /// generator.
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
    /// A string or a number, or a query with one value.
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
    /// Sources by name.
    FurtherSources,
    /// Lists by name.
    Lists,
    /// Default values for optional keys of kinds, by the first key of the kind.
    Defaults,
    /// Tables by name.
    Tables,
    /// A list of mappings. The value of the first key of a mapping selects one of these sections.
    Items(&'static [&'static Section]),
    /// A number, or the name of a column.
    Operand,
    /// Comparisons that are joined by AND. The operands are columns and numbers.
    Condition,
    /// Outputs by their paths.
    Outputs,
    /// Checks by name.
    Checks,
    /// The section `accepted`: for each name of a leak, the reason why the leak is accepted.
    Reasons,
    /// The grading section.
    Grade,
    /// The name of a column, a list of names, or all columns except some.
    Selection,
    /// A JSON string: in quotes, or a word that does not look like a number or a boolean.
    String,
    /// A list of [`KeyType::String`], or `{ list: NAME }`.
    Strings,
    /// A number.
    Number,
    /// A list of numbers.
    Numbers,
    /// A string or an integer.
    Label,
    /// Numbers by name.
    NumberByName,
    /// True or false.
    Boolean,
    /// One of these words. The description of the key explains them.
    Choice(&'static [&'static str]),
    /// Metrics and their weights.
    WeightedMetrics,
    /// Parts of a pipeline, by the name of the correction.
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
        doc: "the type that pandas infers from the entire column. In queries, the value is the text that pandas prints. If a query selects the column unchanged for a JSON or BSON output, the values are written as numbers or booleans",
    },
];
