//! Describes the kinds of tables and outputs.

use super::declaration::Declaration;
use super::pipeline::ColumnKind;
use super::{Section, SectionKey};
use crate::text::diagnostic::Diagnostic;

/// Describes a kind of table or output. The parser of pipelines, the JSON schema, the reference documentation and the
/// steps that run a pipeline use this description.
#[derive(Debug)]
pub struct KindSpec {
    /// Name, documentation and keys. The first key identifies the kind.
    pub section: Section,
    /// Methods with additional keys, which the key `method` selects. Empty if the kind has no key `method`.
    pub methods: &'static [&'static Section],
    /// The tables, file or directory that the kind creates.
    pub makes: Produces,
    /// A check that concerns several keys.
    pub check: Option<fn(&Declaration) -> Vec<Diagnostic>>,
}

impl KindSpec {
    /// Returns the first key, which identifies the kind.
    pub fn head(&self) -> &'static str {
        self.section.head()
    }

    /// Returns the keys of the kind and of a method.
    pub fn keys(
        &self,
        method: Option<&'static Section>,
    ) -> impl Iterator<Item = &'static SectionKey> {
        let more = method.map_or(&[] as &'static [SectionKey], |method| method.keys);
        self.section.keys.iter().chain(more)
    }

    /// Returns the optional keys of the kind and its methods, without duplicates.
    pub fn optional_keys(&self) -> Vec<&'static SectionKey> {
        let methods = self.methods.iter().flat_map(|method| method.keys);
        let mut keys: Vec<&'static SectionKey> = Vec::new();
        for key in self.keys(None).chain(methods) {
            if !key.required && keys.iter().all(|own| own.name != key.name) {
                keys.push(key);
            }
        }
        keys
    }

    /// Returns the number of tables that the kind creates.
    pub fn tables(&self) -> usize {
        match self.makes {
            Produces::Parts(_) => 2,
            _ => 1,
        }
    }
}

/// The tables, file or directory that a kind creates.
#[derive(Debug)]
pub enum Produces {
    /// A table with these columns.
    Table(fn(&Declaration) -> Vec<ProducedColumn>),
    /// A table of unpivoted columns, like pandas' `melt`. This key names the original table.
    Unpivoted(&'static str),
    /// A table with the columns of the table that this key names.
    Same(&'static str),
    /// Two tables with the columns of the table that this key names.
    Parts(&'static str),
    /// A file. An output that is only a query has this kind if the output's path ends with one of these suffixes.
    File(&'static [&'static str]),
    /// A directory of files. An output that is only a query has this kind if the output's path ends with `/`.
    Folder,
    /// An empty directory.
    Empty,
    /// A file or directory, depending on the path that is the value of this key.
    Like(&'static str),
}

/// A column of a table that a kind creates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducedColumn {
    /// The column's name.
    pub name: String,
    /// The content of its cells.
    pub holds: CellContent,
    /// Whether `*` leaves the column out.
    pub hidden: bool,
}

/// The content of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellContent {
    /// Values of this type.
    Values(ColumnKind),
    /// JSON documents, which may refer to long binary values in the input file.
    Documents,
    /// Entries of an array (`.npy`). They can only be copied to an output that is also an array.
    Entries,
}

impl ProducedColumn {
    /// Creates a visible column of values.
    pub fn new(name: &str, kind: ColumnKind) -> Self {
        Self {
            name: name.to_owned(),
            holds: CellContent::Values(kind),
            hidden: false,
        }
    }

    /// Creates a text column.
    pub fn text(name: &str) -> Self {
        Self::new(name, ColumnKind::Text)
    }

    /// Creates an integer column.
    pub fn integer(name: &str) -> Self {
        Self::new(name, ColumnKind::Integer)
    }
}

/// The kinds that a pipeline can use.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    /// Kinds of tables.
    pub tables: Vec<&'static KindSpec>,
    /// Kinds of outputs.
    pub outputs: Vec<&'static KindSpec>,
}

impl Vocabulary {
    /// Returns the kind of an output that is only a query. The output's path determines this kind.
    pub fn by_path(&self, path: &str) -> Option<&'static KindSpec> {
        let ends = |ending: &&str| path.to_ascii_lowercase().ends_with(*ending);
        self.outputs.iter().copied().find(|form| match form.makes {
            Produces::Folder => path.ends_with('/'),
            Produces::File(endings) => endings.iter().any(ends),
            _ => false,
        })
    }

    /// Returns the kinds that have optional keys.
    pub fn kinds_with_options(&self) -> impl Iterator<Item = &'static KindSpec> {
        let all = self.tables.iter().chain(&self.outputs);
        all.copied().filter(|form| !form.optional_keys().is_empty())
    }

    /// Returns the path suffixes that [`Vocabulary::by_path`] recognizes.
    pub fn endings(&self) -> impl Iterator<Item = &'static str> {
        self.outputs
            .iter()
            .flat_map(|form| match form.makes {
                Produces::File(endings) => endings,
                _ => &[],
            })
            .copied()
    }
}
