//! What a pipeline says, after parsing and before planning.
//!
//! Everything that a diagnostic may have to point at carries its [`Span`] in the YAML text. The types know nothing
//! of how a step is executed: they are the language, one type per word of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use crate::diagnostic::{SourceFile, Span};
use crate::yaml::Style;

pub use crate::declaration::{Comparison, Declaration, Item, Operand, Operator, Setting};

/// A value and the place in the pipeline file where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

/// One competition: a bundle, tables made from it, outputs, checks and grading.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// The competition's id: the name of the folder that holds the file.
    pub id: String,
    pub name: String,
    pub category: String,
    pub bundle: Bundle,
    /// Sources beside the bundle.
    pub sources: Vec<FurtherSource>,
    /// Named lists of texts that queries can use and grading can use.
    pub lists: Vec<(Spanned<String>, Vec<String>)>,
    pub tables: Vec<Table>,
    pub public: Vec<Output>,
    pub private: Vec<Output>,
    pub checks: Vec<Check>,
    /// What is known to give answers away, and why it stays.
    pub accepted: Vec<(Spanned<String>, String)>,
    /// The section as written; `prep-grade` gives it its meaning.
    pub grade: Option<Spanned<Grade>>,
    /// Which variant this is.
    pub variant: Variant,
    pub source: Arc<SourceFile>,
}

/// A version of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// `v1`, or a key of `variants`.
    pub name: String,
    /// Whether the file says anything that sets it apart from `v1`.
    pub differs: bool,
}

/// The archive that Kaggle serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// Kaggle's name of the competition.
    pub kaggle: String,
    /// Published MD5 of the zip, 32 hex digits.
    pub md5: Option<String>,
}

/// A source beside the bundle. A path in it is written `NAME:path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FurtherSource {
    pub name: Spanned<String>,
    pub place: Place,
}

/// Where a further source is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// One file, at an address.
    Url(RemoteFile),
    /// All files below a folder: absolute, or relative to the folder of the pipeline's file.
    Folder(String),
}

/// A file at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFile {
    pub url: String,
    /// The only path of the source.
    pub file: String,
    /// Published sums: 32 and 64 hex digits, in lower case.
    pub md5: Option<String>,
    pub sha256: Option<String>,
    /// Length in bytes, as the pipeline says.
    pub size: Option<u64>,
}

/// A named, ordered sequence of rows; or two, made together.
#[derive(Debug, Clone)]
pub struct Table {
    /// As many as the kind makes.
    pub names: Vec<Spanned<String>>,
    pub made: Made,
}

impl Table {
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|own| own.value == name)
    }
}

/// How a table is made.
#[derive(Debug, Clone)]
pub enum Made {
    /// `name: SELECT ...`
    Query(Query),
    /// `name: { read: train.csv, columns: [...] }`: by one of the vocabulary's kinds.
    Kind(Declaration),
    /// One of `lists`, read as a table: the column `value`.
    List(Vec<String>),
}

/// A declared column. The type is a promise that queries may rely on; a file that breaks it is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: Spanned<String>,
    pub kind: ColumnKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    Text,
    Integer,
    Number,
    Boolean,
    Json,
    /// What pandas infers from the whole column.
    Inferred,
}

impl ColumnKind {
    /// The word of the language.
    pub fn name(self) -> &'static str {
        match self {
            ColumnKind::Text => "text",
            ColumnKind::Integer => "integer",
            ColumnKind::Number => "number",
            ColumnKind::Boolean => "boolean",
            ColumnKind::Json => "json",
            ColumnKind::Inferred => "inferred",
        }
    }
}

/// One entry of `public`, `private` or of an archive: a path and what is put there.
#[derive(Debug, Clone)]
pub struct Output {
    /// Relative path. It ends in `/` when the output is a folder of files; `./` is the folder of the section itself.
    pub path: Spanned<String>,
    pub declaration: Declaration,
}

/// A query that must return no rows; those that it returns are shown.
#[derive(Debug, Clone)]
pub struct Check {
    pub name: Spanned<String>,
    pub query: Query,
}

/// Grading: where answers and sample lie, and the rules and metric as a tree.
#[derive(Debug, Clone)]
pub struct Grade {
    /// `private/...` path of an output.
    pub answers: Spanned<String>,
    /// `public/...` or `private/...` path of the sample submission.
    pub sample: Spanned<String>,
    /// The whole section without `answers` and `sample`.
    pub rules: serde_json::Value,
    /// Where each value of `rules` was written, by its JSON pointer (`/metric/name`; `""` is the section).
    pub places: BTreeMap<String, Span>,
}

/// A SELECT, parsed.
#[derive(Debug, Clone)]
pub struct Query {
    /// As written.
    pub text: String,
    pub span: Span,
    /// Where it stands, for messages: `taxi.yaml:12:5`.
    pub place: String,
    /// The tree printed again: equal for queries that differ in layout and comments only. Part of step keys.
    pub normal: String,
    /// Tables that it reads, without those that it defines itself (`WITH`).
    pub tables: BTreeSet<String>,
    /// How the text was written, by which places in it are found in the file.
    pub(crate) style: Style,
    /// The lists of the pipeline, which macros name.
    pub(crate) lists: Arc<BTreeMap<String, Vec<String>>>,
    /// Once it was asked for.
    pub(crate) tree: OnceLock<Arc<sqlparser::ast::Query>>,
}
