//! The kinds of steps. One file per kind; its name is the kind's name in plans, keys and events.
//!
//! What a pipeline can declare is a [`Kind`]: its form in the language and how it becomes a step, said once, in the
//! kind's file. A further kind is such a file and its line in `ALL` of its folder.

mod check;
mod checksum;
mod encoding;
mod expand;
mod generator;
mod list;
mod made;
mod outputs;
mod pieces;
mod publish;
mod query;
mod source;
mod splits;
mod tables;
mod unpack;

pub(crate) use check::Check;
pub use checksum::is_of_writer;
pub(crate) use checksum::{Checksum, Strictness};
pub use expand::Expand;
pub(crate) use expand::{Expanded, OUTPUT};
pub(crate) use generator::GENERATOR;
pub(crate) use list::list;
pub(crate) use outputs::depends_on_writer;
pub(crate) use publish::Publish;
pub use publish::{
    Manifest, ManifestError, PublishedOutput, Settled, distrust, note_origin, settle,
};
pub(crate) use query::query_table;
pub(crate) use source::{holder, source_tree};
pub(crate) use tables::split::PARTS;
pub(crate) use unpack::{Unpack, archive_suffix, is_archive};

use std::sync::LazyLock;

use prep_core::{Outputs, Step};
use prep_spec::Vocabulary;
use prep_spec::model::Declaration;
use prep_spec::words::Form;
use prep_sql::Session;

/// A kind of table or output.
pub(crate) struct Kind {
    pub form: Form,
    /// The step that makes what is declared; none for a declaration that lacks a required key.
    pub step: fn(&Declaration, &Session) -> Option<Box<dyn Step>>,
}

/// What pipelines may be made of.
pub fn vocabulary() -> &'static Vocabulary {
    static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary {
        tables: tables::ALL.iter().map(|kind| &kind.form).collect(),
        outputs: outputs::ALL.iter().map(|kind| &kind.form).collect(),
    });
    &VOCABULARY
}

/// The step that makes what is declared.
pub(crate) fn step(declaration: &Declaration, session: &Session) -> Option<Box<dyn Step>> {
    let mut all = tables::ALL.iter().chain(outputs::ALL);
    let kind = all.find(|kind| std::ptr::eq(&kind.form, declaration.form))?;
    (kind.step)(declaration, session)
}

/// Name of the only output of most kinds.
pub(crate) const VALUE: &str = "value";

/// Name of the input of a kind that goes through the files that a table names.
pub(crate) const FILES: &str = "files";

/// Inputs that are trees begin with this; tables have their own names, in which it cannot occur.
pub(crate) const TREE: &str = "tree:";

/// A single output.
fn one(value: prep_core::Value) -> Outputs {
    Outputs::from([(VALUE.to_owned(), value)])
}
