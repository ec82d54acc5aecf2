//! The kinds of steps.
//!
//! A [`StepKind`] is a kind of table or output that pipelines can declare. It consists of the keys of the declaration, and
//! a function that builds the step. To add a kind, also add a line to the constant `ALL` of its directory.

mod check;
mod content_parts;
mod expand;
mod function_step;
mod generator;
mod members;
mod outputs;
mod publish;
mod splits;
mod tables;
mod trial;
mod undeclared;
mod unpack;

use std::sync::LazyLock;

use prep_core::Step;
use prep_formats::text_encoding::TextEncoding;
use prep_spec::Vocabulary;
use prep_spec::model::Declaration;
use prep_spec::words::{KeyType, KindSpec, SectionKey, Word};
use prep_sql::Session;

pub use check::is_writer_dependent;
pub(crate) use check::{Checksum, check};
pub use expand::Expand;
pub(crate) use expand::{ARCHIVE_INPUT, expand_archives};
pub(crate) use function_step::FunctionStep;
pub(crate) use generator::GENERATOR_PORT;
pub(crate) use members::members;
pub(crate) use outputs::depends_on_writer;
pub(crate) use publish::Publish;
pub use publish::{
    ExaminedFiles, FailedRun, HashFiles, LISTING_FILE, MANIFEST_FILE, Manifest, ManifestError,
    PathSummary, PreparationRecord, PublishedOutput, PublishedPaths, RecordedPipeline,
    RecordedSource, RememberedOptions, RemovedFiles, Remover, TEMP_PREFIX, TreeExamination,
    TreeState, VerifiedTree, Verify, find_damaged, invalidate, record_origin, record_preparation,
    renew_record, verify_after_restart,
};
pub(crate) use tables::split::SPLIT_OUTPUTS;
pub(crate) use trial::trial;
pub use trial::{GradeFunction, Trial, TrialError, result_of};
pub(crate) use undeclared::{list, query_table, source_tree};
pub(crate) use unpack::{gzipped_file, is_archive, is_container, unpack, without_suffix};

/// Returns the kinds of tables and outputs that pipelines can declare.
pub fn vocabulary() -> &'static Vocabulary {
    static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary {
        tables: tables::ALL.iter().map(|kind| &kind.form).collect(),
        outputs: outputs::ALL.iter().map(|kind| &kind.form).collect(),
    });
    &VOCABULARY
}

/// Builds the step of a declaration. `None` if a required key is missing.
pub(crate) fn step(declaration: &Declaration, session: &Session) -> Option<Box<dyn Step>> {
    let vocabulary = vocabulary();
    let forms = vocabulary.tables.iter().chain(&vocabulary.outputs);
    let kinds = tables::ALL.iter().chain(outputs::ALL);
    let (_, kind) = forms
        .zip(kinds)
        .find(|(form, _)| std::ptr::eq(**form, declaration.form))?;
    (kind.step)(declaration, session)
}

pub(crate) struct StepKind {
    pub form: KindSpec,
    /// Returns the step of a declaration. `None` if a required key is missing.
    pub step: fn(&Declaration, &Session) -> Option<Box<dyn Step>>,
}

const ENCODING: SectionKey = SectionKey::optional(
    "encoding",
    KeyType::Word(ENCODINGS),
    "Encoding of the CSV or JSON file. Default: `utf-8`.",
    "latin-1",
);

const ENCODINGS: &[Word] = &[
    Word {
        name: "utf-8",
        doc: "UTF-8",
    },
    Word {
        name: "latin-1",
        doc: "ISO 8859-1: each byte is a code point",
    },
    Word {
        name: "windows-1252",
        doc: "The encoding of Excel on Western European Windows: Latin-1, with characters such as `€` and `–` for bytes 0x80 to 0x9f",
    },
];

fn encoding(declaration: &Declaration) -> TextEncoding {
    match declaration.text("encoding") {
        Some("latin-1") => TextEncoding::Latin1,
        Some("windows-1252") => TextEncoding::Windows1252,
        _ => TextEncoding::Utf8,
    }
}
