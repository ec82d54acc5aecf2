//! The kinds of steps. One file per kind, with the name that the kind has in plans, keys and events.
//!
//! A pipeline declares steps of a [`StepKind`], which combines the keys in the language with a function that builds the
//! step. Both are defined in the file of the kind. A new kind is such a file, and a line in `ALL` of its directory.

mod check;
mod content_parts;
mod encoding;
mod expand;
mod function_step;
mod generator;
mod kind;
mod outputs;
mod publish;
mod splits;
mod tables;
mod undeclared;
mod unpack;

pub(crate) use check::Checksum;
pub(crate) use check::check;
pub use check::is_writer_dependent;
pub use expand::Expand;
pub(crate) use expand::{ARCHIVE_INPUT, expand_archives};
pub(crate) use function_step::FunctionStep;
pub(crate) use generator::GENERATOR_PORT;
pub(crate) use kind::StepKind;
pub(crate) use outputs::depends_on_writer;
pub(crate) use publish::Publish;
pub use publish::{
    HashFiles, MANIFEST_FILE, Manifest, ManifestError, PathSummary, PreparationRecord,
    PublishedOutput, PublishedPaths, RecordedSource, RememberedOptions, RemovedFiles,
    TreeExamination, TreeState, VerifiedTree, Verify, invalidate, record_origin,
    record_preparation, remove_published, renew_record, verify_after_restart,
};
pub(crate) use tables::split::SPLIT_OUTPUTS;
pub(crate) use undeclared::list;
pub(crate) use undeclared::query_table;
pub(crate) use undeclared::source_tree;
pub(crate) use unpack::{is_archive, unpack, without_suffix};

use std::sync::LazyLock;

use prep_core::Step;
use prep_spec::Vocabulary;
use prep_spec::model::Declaration;
use prep_sql::Session;

/// Returns the kinds of tables and outputs that pipelines can declare.
pub fn vocabulary() -> &'static Vocabulary {
    static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary {
        tables: tables::ALL.iter().map(|kind| &kind.form).collect(),
        outputs: outputs::ALL.iter().map(|kind| &kind.form).collect(),
    });
    &VOCABULARY
}

/// Returns the step of a declaration.
pub(crate) fn step(declaration: &Declaration, session: &Session) -> Option<Box<dyn Step>> {
    let vocabulary = vocabulary();
    let forms = vocabulary.tables.iter().chain(&vocabulary.outputs);
    let kinds = tables::ALL.iter().chain(outputs::ALL);
    let (_, kind) = forms
        .zip(kinds)
        .find(|(form, _)| std::ptr::eq(**form, declaration.form))?;
    (kind.step)(declaration, session)
}
