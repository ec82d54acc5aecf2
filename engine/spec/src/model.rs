//! What a pipeline says, after parsing and before planning.
//!
//! Everything that a diagnostic may have to point at carries its [`Span`] in the YAML text. The types know nothing
//! of how a step is executed: they are the language, one type per word of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::diagnostic::{SourceFile, Span};
use crate::yaml::Style;

/// A value and the place in the pipeline file where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

/// One competition: a bundle, tables made from it, an optional split, outputs, checks and grading.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// The competition's id: the name of the folder that holds the file.
    pub id: String,
    pub name: String,
    pub category: String,
    pub bundle: Bundle,
    /// Named lists of texts that queries can use in `one_hot(column, list)` and `constants(value, list)`.
    pub lists: Vec<(Spanned<String>, Vec<String>)>,
    pub tables: Vec<Table>,
    pub split: Option<Split>,
    pub public: Vec<Output>,
    pub private: Vec<Output>,
    pub checks: Vec<Check>,
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

/// A named, ordered sequence of rows.
#[derive(Debug, Clone)]
pub struct Table {
    pub name: Spanned<String>,
    pub kind: TableKind,
}

#[derive(Debug, Clone)]
pub enum TableKind {
    /// `name: SELECT ...`
    Query(Query),
    /// `name: { read: train.csv, columns: [...] }`: one file of the bundle.
    Read(Read),
    /// `name: { files: train.zip/train/*.jpg }`: a row per file: file, dir, folder, name, stem, ext, size; in code-point order of `file`.
    Files(Spanned<String>),
    /// `name: { text_lines: texts }`: a row per line of the text files that the table `texts` names in its column `file`: file, stem, number (from 1), line.
    TextLines(Spanned<String>),
    /// `name: { pixels: pages }`: a row per pixel of the PNG files that the table `pages` names in its column `file`: file, stem, row, col (from 1), grey (0 to 255).
    Pixels(Spanned<String>),
    /// `name: { tfrecords: shards, features: [...] }`: a row per record of the files of table `shards`: file, one column per feature.
    TfRecords {
        files: Spanned<String>,
        features: Vec<Column>,
    },
}

#[derive(Debug, Clone)]
pub struct Read {
    /// Path in the bundle; a segment that names an archive is entered (`train.zip/train.csv`).
    pub path: Spanned<String>,
    pub format: Format,
    /// The columns that the file must have. Further ones are allowed and part of `SELECT *`.
    pub columns: Vec<Column>,
    pub delimiter: u8,
    /// How decimals are read: correctly rounded, or as pandas' default parser does.
    pub float_precision: FloatPrecision,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Csv,
    Json,
    JsonLines,
    Parquet,
    /// A NumPy array: a row per entry of its first axis.
    Npy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloatPrecision {
    RoundTrip,
    High,
}

/// A declared column. The type is a promise that queries may rely on; a file that breaks it is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: Spanned<String>,
    pub kind: ColumnKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    Text,
    Integer,
    Number,
    Boolean,
    Json,
    /// What pandas infers from the whole column.
    Inferred,
}

/// How the rows of one table are divided. Makes two tables, named by `into`.
#[derive(Debug, Clone)]
pub struct Split {
    pub rows: Spanned<String>,
    /// Rows that agree in this column stay together.
    pub group_by: Option<Spanned<String>>,
    pub method: prep_splits::Method,
    /// A `test_size` that depends on the data: a query with one row and one column; replaces the one in `method`.
    pub test_size: Option<Query>,
    /// Names of the two tables: train, test.
    pub into: [String; 2],
    pub span: Span,
}

/// One entry of `public`, `private` or of an archive: a path and what is put there.
#[derive(Debug, Clone)]
pub struct Output {
    /// Relative path. It ends in `/` when the output is a folder of files; `./` is the folder of the section itself.
    pub path: Spanned<String>,
    pub kind: OutputKind,
}

#[derive(Debug, Clone)]
pub enum OutputKind {
    /// A table as CSV (also `.tsv`).
    Csv {
        query: Query,
        delimiter: u8,
        quoting: Quoting,
    },
    /// A table as a JSON list, as Python's `json.dump` writes it.
    Json { query: Query, indent: Option<usize> },
    /// A table as parquet.
    Parquet { query: Query },
    /// Entries of an array, as `numpy.save` writes them.
    Npy { query: Query },
    /// Texts, one per line.
    Lines { query: Query },
    /// Files: the query has the columns `file` (content) and `path` (where it goes, below the output's path).
    Files { query: Query },
    /// Byte copy of a file of the bundle, or of a folder when the path ends in `/`.
    Copy(Spanned<String>),
    /// A folder that stays empty.
    Empty,
    /// An archive of outputs.
    Archive {
        kind: ArchiveKind,
        members: Vec<Output>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    Minimal,
    NonNumeric,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveKind {
    /// Deflated members.
    Zip,
    /// Members stored as they are.
    ZipStored,
    Tar,
    SevenZip,
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
    /// The syntax tree, macros (`one_hot`, `constants`) expanded.
    pub statement: Arc<sqlparser::ast::Query>,
    /// The tree printed again: equal for queries that differ in layout and comments only. Part of step keys.
    pub normal: String,
    /// Tables that it reads, without those that it defines itself (`WITH`).
    pub tables: BTreeSet<String>,
    /// How the text was written, by which places in it are found in the file.
    pub(crate) style: Style,
}
