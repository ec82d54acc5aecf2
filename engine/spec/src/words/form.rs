//! Kinds of tables and outputs, as the language sees them.

use super::{Key, Section};
use crate::diagnostic::Diagnostic;
use crate::model::{ColumnKind, Declaration};

/// A kind of table or output: everything that is known of it before it runs.
///
/// Parser, schema, reference, the checks of queries, the graph of steps and the choice of the bundle's members follow
/// from it. Which inputs a step has is told by the types of its keys: a table, a path in the bundle, a query.
#[derive(Debug)]
pub struct Form {
    /// Name, documentation and keys. The first key tells the kind.
    pub section: Section,
    /// Ways to go on with further keys, told by the key `method`; without such a key, none.
    pub methods: &'static [&'static Section],
    pub makes: Makes,
    /// What no single key can tell of being wrong.
    pub check: Option<fn(&Declaration) -> Vec<Diagnostic>>,
}

impl Form {
    pub fn head(&self) -> &'static str {
        self.section.head()
    }

    /// The keys of the kind, and those of one of its methods.
    pub fn keys(&self, method: Option<&'static Section>) -> impl Iterator<Item = &'static Key> {
        let more = method.map_or(&[] as &'static [Key], |method| method.keys);
        self.section.keys.iter().chain(more)
    }

    /// How many tables it makes.
    pub fn tables(&self) -> usize {
        match self.makes {
            Makes::Parts(_) => 2,
            _ => 1,
        }
    }
}

/// What a kind makes.
#[derive(Debug)]
pub enum Makes {
    /// A table with these columns.
    Table(fn(&Declaration) -> Vec<MadeColumn>),
    /// A table with the columns of the table that this key names.
    Same(&'static str),
    /// Two tables with the columns of the table that this key names.
    Parts(&'static str),
    /// A file; the endings of a path at which a query alone is meant so.
    File(&'static [&'static str]),
    /// A folder of files; a query alone is meant so where the path ends in `/`.
    Folder,
    /// A folder without files.
    Empty,
    /// A file or a folder, as the path behind this key.
    Like(&'static str),
}

/// A column of a made table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeColumn {
    pub name: String,
    pub holds: Holds,
    /// Not part of `*`.
    pub hidden: bool,
}

/// What is known of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    Values(ColumnKind),
    /// JSON whose longer binaries stand in the file that was read: what writes them reads that file, too.
    Documents,
    /// Entries of an array, which can only be passed on, to an array.
    Entries,
}

impl MadeColumn {
    pub fn new(name: &str, kind: ColumnKind) -> Self {
        Self {
            name: name.to_owned(),
            holds: Holds::Values(kind),
            hidden: false,
        }
    }

    pub fn text(name: &str) -> Self {
        Self::new(name, ColumnKind::Text)
    }

    pub fn integer(name: &str) -> Self {
        Self::new(name, ColumnKind::Integer)
    }
}

/// What a pipeline may be made of.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    pub tables: Vec<&'static Form>,
    pub outputs: Vec<&'static Form>,
}

impl Vocabulary {
    /// What a query alone is, as the output of this path.
    pub fn by_path(&self, path: &str) -> Option<&'static Form> {
        let ends = |ending: &&str| path.to_ascii_lowercase().ends_with(*ending);
        self.outputs.iter().copied().find(|form| match form.makes {
            Makes::Folder => path.ends_with('/'),
            Makes::File(endings) => endings.iter().any(ends),
            _ => false,
        })
    }

    /// The endings by which [`Vocabulary::by_path`] tells formats.
    pub fn endings(&self) -> impl Iterator<Item = &'static str> {
        self.outputs
            .iter()
            .flat_map(|form| match form.makes {
                Makes::File(endings) => endings,
                _ => &[],
            })
            .copied()
    }
}
