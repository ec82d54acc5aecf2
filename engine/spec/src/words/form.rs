//! Kinds of tables and outputs, as part of the language.

use super::{Section, SectionKey};
use crate::diagnostic::Diagnostic;
use crate::model::{ColumnKind, Declaration};

/// A kind of table or output: everything that is known about it before it runs.
///
/// The parser, schema, reference, query checks, step graph and the selection of the bundle's members are derived from
/// it. The inputs of a step follow from the types of its keys: a table, a path in the bundle, a query.
#[derive(Debug)]
pub struct KindSpec {
    /// Name, documentation and keys. The first key identifies the kind.
    pub section: Section,
    /// Methods with further keys, selected by the key `method`. Empty if the kind has no such key.
    pub methods: &'static [&'static Section],
    /// The outputs of the kind.
    pub makes: Produces,
    /// Checks that concern several keys.
    pub check: Option<fn(&Declaration) -> Vec<Diagnostic>>,
}

impl KindSpec {
    /// Returns the first key, which identifies the kind.
    pub fn head(&self) -> &'static str {
        self.section.head()
    }

    /// Returns the keys of the kind and of one of its methods.
    pub fn keys(
        &self,
        method: Option<&'static Section>,
    ) -> impl Iterator<Item = &'static SectionKey> {
        let more = method.map_or(&[] as &'static [SectionKey], |method| method.keys);
        self.section.keys.iter().chain(more)
    }

    /// Returns the number of tables that it creates.
    pub fn tables(&self) -> usize {
        match self.makes {
            Produces::Parts(_) => 2,
            _ => 1,
        }
    }
}

/// The outputs of a kind.
#[derive(Debug)]
pub enum Produces {
    /// A table with these columns.
    Table(fn(&Declaration) -> Vec<ProducedColumn>),
    /// A table that this query describes. The kind is only a shorter form of the query.
    Query(fn(&Declaration) -> String),
    /// A table with the columns of the table that this key names.
    Same(&'static str),
    /// Two tables with the columns of the table that this key names.
    Parts(&'static str),
    /// A file. A query alone has this kind if the output's path ends in one of these suffixes.
    File(&'static [&'static str]),
    /// A directory of files. A query alone has this kind if the output's path ends in `/`.
    Folder,
    /// An empty directory.
    Empty,
    /// A file or a directory, depending on the path in this key.
    Like(&'static str),
}

/// A column of a created table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducedColumn {
    /// The column's name.
    pub name: String,
    /// The type of its cells.
    pub holds: CellContent,
    /// Whether `*` leaves it out.
    pub hidden: bool,
}

/// The known properties of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellContent {
    /// Values of this type.
    Values(ColumnKind),
    /// JSON whose longer binaries remain in the input file. A step that writes them also reads that file.
    Documents,
    /// Entries of an array, which can only be passed on to an array.
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
    /// Returns the kind of a query alone, as the output with this path.
    pub fn by_path(&self, path: &str) -> Option<&'static KindSpec> {
        let ends = |ending: &&str| path.to_ascii_lowercase().ends_with(*ending);
        self.outputs.iter().copied().find(|form| match form.makes {
            Produces::Folder => path.ends_with('/'),
            Produces::File(endings) => endings.iter().any(ends),
            _ => false,
        })
    }

    /// Returns the suffixes that [`Vocabulary::by_path`] recognises.
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
