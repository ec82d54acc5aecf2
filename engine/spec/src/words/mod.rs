//! The vocabulary: every section and key of the language, as data.
//!
//! The parser takes from these tables which keys there are and which must be there; the JSON Schema and the reference
//! are printed from them. So the three cannot disagree. What tables and outputs can be is not said here but where each
//! kind is implemented: it comes as a [`Vocabulary`] of [`Form`]s.

mod form;
mod pipeline;

pub use form::{Form, Holds, MadeColumn, Makes, Vocabulary};
pub use pipeline::{BUNDLE, GRADE, PIPELINE, SOURCE, VARIANTS};

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
    pub const fn required(
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

    pub const fn optional(
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
#[derive(Debug, PartialEq, Eq)]
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
    /// 64 hex digits.
    Sha256,
    /// An address of http or https.
    Url,
    /// SQL whose rows come in order.
    Rows,
    /// SQL whose rows come in order and may hold documents with binaries in other files.
    Documents,
    /// SQL with the columns `file` (what is written) and `path` (where), in any order.
    Placed,
    /// Queries by name, whose rows come in order.
    Queries,
    /// SQL with one column of texts, and perhaps one of booleans.
    Lines,
    /// SQL with the one column `record` of a table that was read from an array.
    Entries,
    /// SQL that must return no row.
    Set,
    /// The path of an output: relative, with `/` between its segments.
    Path,
    /// A path in the bundle, or in a further source.
    Source,
    /// The same with wildcards.
    Sources,
    /// The name of a table.
    Table,
    /// The name of a table whose column `file` names files of the bundle.
    Files,
    /// The name of a table that was made by drawing from a generator.
    Drawn,
    /// The name of a column of the table that another key names.
    Column,
    /// One ASCII character, or `tab`.
    Delimiter,
    /// A whole number from 0.
    Natural,
    /// A whole number from 0 to 4294967295.
    Seed,
    /// A number (a share when it has a point, else a count).
    Share,
    /// A [`Value::Share`], or a query with one value.
    Size,
    /// The word `true`.
    True,
    Word(&'static [Word]),
    /// The name of one of the form's methods.
    Method,
    /// A list of different texts.
    Texts,
    /// A list of names, or a mapping from names to types.
    Columns,
    Section(&'static Section),
    /// Further sources by name.
    FurtherSources,
    /// Lists by name.
    Lists,
    /// Tables by name.
    Tables,
    /// A list of mappings, each named by its first key, whose value says which section it is.
    Items(&'static [&'static Section]),
    /// A number, or the name of a column.
    Operand,
    /// Comparisons of columns and numbers, joined by AND.
    Condition,
    /// Outputs by path.
    Outputs,
    /// Checks by name.
    Checks,
    /// Reasons by what they are for.
    Reasons,
    Grade,
    /// Any part of a pipeline.
    Patch,
}

/// The types of columns.
pub static COLUMN_KINDS: &[Word] = &[
    Word {
        name: "text",
        doc: "the cell as it stands in the file",
    },
    Word {
        name: "integer",
        doc: "a whole number of 64 bits",
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
        doc: "what pandas infers from the whole column; in queries the text that pandas prints of it, in JSON and BSON the number or boolean itself when the column is only copied",
    },
];
