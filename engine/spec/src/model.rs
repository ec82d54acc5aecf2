//! The content of a pipeline, after parsing and before planning.
//!
//! Every part that a diagnostic may refer to has its [`Span`] in the YAML text. The types describe the language, not
//! how a step is executed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use crate::diagnostic::{SourceFile, Span};
use crate::query::QueryUse;
use crate::yaml::Style;

pub use crate::declaration::{Comparison, Declaration, Item, Operand, Operator, Setting};

/// A value and its position in the pipeline file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// The position of the value.
    pub span: Span,
}

/// The pipeline of one competition: a bundle, tables computed from it, outputs, checks and grading.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// Id of the competition, which is the name of the directory that contains the file.
    pub id: String,
    /// Title of the competition.
    pub name: String,
    /// Category of the competition's task.
    pub category: String,
    /// The bundle.
    pub bundle: Bundle,
    /// Sources in addition to the bundle.
    pub sources: Vec<SourceSpec>,
    /// Named lists of texts for queries and grading.
    pub lists: Vec<(Spanned<String>, Vec<String>)>,
    /// Tables in file order.
    pub tables: Vec<Table>,
    /// Outputs for participants.
    pub public: Vec<Output>,
    /// Outputs for the grader only.
    pub private: Vec<Output>,
    /// Queries that must return no rows.
    pub checks: Vec<Check>,
    /// Leaks that are known and accepted, with the reason.
    pub accepted: Vec<(Spanned<String>, String)>,
    /// The grading section as it is written. `prep-grade` interprets it.
    pub grade: Option<Spanned<Grade>>,
    /// The variant.
    pub variant: Variant,
    /// The pipeline file.
    pub source: Arc<SourceFile>,
}

/// A version of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// `v1`, or a key of `variants`.
    pub name: String,
    /// Whether the file defines differences from `v1`.
    pub differs: bool,
}

/// The archive that Kaggle serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// Kaggle's name of the competition.
    pub kaggle: String,
    /// Published MD5 of the archive, 32 hexadecimal digits.
    pub md5: Option<String>,
}

/// A source in addition to the bundle. Paths in it are written as `NAME:path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSpec {
    /// The name of the source.
    pub name: Spanned<String>,
    /// The location of the source.
    pub place: SourceLocation,
}

/// The location of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceLocation {
    /// A file at a URL.
    Url(RemoteFile),
    /// All files below a directory. The path is absolute, or relative to the directory of the pipeline file.
    Folder(String),
}

/// A file at a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFile {
    /// The URL.
    pub url: String,
    /// The file's name. It is the only path of the source.
    pub file: String,
    /// Published MD5: 32 hexadecimal digits in lower case.
    pub md5: Option<String>,
    /// Published SHA-256: 64 hexadecimal digits in lower case.
    pub sha256: Option<String>,
    /// Length in bytes that the pipeline states.
    pub size: Option<u64>,
}

/// A named, ordered sequence of rows, or several sequences that are created together.
#[derive(Debug, Clone)]
pub struct Table {
    /// One name for each table that the kind creates.
    pub names: Vec<Spanned<String>>,
    /// How the table is created.
    pub made: TableOrigin,
}

impl Table {
    /// Returns whether the table has this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|own| own.value == name)
    }
}

/// How a table is created.
#[derive(Debug, Clone)]
pub enum TableOrigin {
    /// The result of a query: `name: SELECT ...`
    Query(Query),
    /// A kind of the vocabulary: `name: { read: train.csv, columns: [...] }`
    Declared(Declaration),
    /// The texts of one of `lists`, in the column `value`.
    List(Vec<String>),
}

/// A declared column. Queries may rely on its type: a file that does not conform to it is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The column's name.
    pub name: Spanned<String>,
    /// The column's type.
    pub kind: ColumnKind,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// Text as it is in the file.
    Text,
    /// A 64-bit integer.
    Integer,
    /// A double.
    Number,
    /// `True` or `False`.
    Boolean,
    /// A JSON value.
    Json,
    /// The type that pandas infers from the entire column.
    Inferred,
}

impl ColumnKind {
    /// Returns the name of the type in the pipeline language.
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

/// An entry of `public`, of `private`, or of an archive.
#[derive(Debug, Clone)]
pub struct Output {
    /// The relative path. It ends with `/` if the output is a directory. `./` is the directory of the section itself.
    pub path: Spanned<String>,
    /// The content.
    pub declaration: Declaration,
}

/// A query that must return no rows. Messages show the rows that it returns.
#[derive(Debug, Clone)]
pub struct Check {
    /// The name of the check.
    pub name: Spanned<String>,
    /// The query.
    pub query: Query,
}

/// The section `grade`: paths of the answers and of the sample submission, and a JSON tree with the metric and its
/// rules.
#[derive(Debug, Clone)]
pub struct Grade {
    /// Path of the answers, `private/...`.
    pub answers: Spanned<String>,
    /// Path of the sample submission, `public/...` or `private/...`.
    pub sample: Spanned<String>,
    /// The section without the keys `answers` and `sample`.
    pub rules: serde_json::Value,
    /// The position of each value of `rules`, by JSON pointer. `/metric/name` is a value, and `""` is the section.
    pub places: BTreeMap<String, Span>,
}

/// A parsed SELECT statement.
#[derive(Debug, Clone)]
pub struct Query {
    /// The text as it is written.
    pub text: String,
    /// Position of the text.
    pub span: Span,
    /// Position for messages: `taxi.yaml:12:5`.
    pub place: String,
    /// The syntax tree as text. It is the same for queries that differ only in layout and comments. It is part of step
    /// keys.
    pub normal: String,
    /// Tables that the query reads, without those that it defines itself in `WITH`.
    pub tables: BTreeSet<String>,
    /// The YAML style of the text, which is needed to find positions of the text in the file. `None` if the text is not
    /// in the file.
    pub(crate) style: Option<Style>,
    /// The part of the pipeline that uses the query.
    pub(crate) purpose: QueryUse,
    /// The pipeline's lists, for macros.
    pub(crate) lists: Arc<BTreeMap<String, Vec<String>>>,
    /// The syntax tree, parsed on first use.
    pub(crate) tree: OnceLock<Arc<sqlparser::ast::Query>>,
}
