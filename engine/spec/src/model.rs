//! The content of a pipeline after parsing. A [`Span`] is a position in the YAML text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::text::align;
use crate::text::diagnostic::{Diagnostics, SourceFile, Span};
use crate::text::yaml::Style;

pub use crate::text::diagnostic::Spanned;
pub use crate::words::declaration::{
    Comparison, Declaration, Item, Operand, Operator, Output, Setting,
};
pub use crate::words::pipeline::{Column, ColumnKind};
pub use crate::words::query::Query;

/// The pipeline of one competition: a bundle, tables computed from it, outputs, checks and grading.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// The id of the competition, which is the name of the directory of the pipeline file.
    pub id: String,
    /// Title of the competition.
    pub name: String,
    /// Category of the competition's task.
    pub category: String,
    /// The archive of the competition's files. `None` if all files are in `sources`.
    pub bundle: Option<Bundle>,
    /// Inputs in addition to the bundle.
    pub sources: Vec<SourceSpec>,
    /// Named lists of strings for queries and grading.
    pub lists: Vec<(Spanned<String>, Vec<String>)>,
    /// Tables in file order.
    pub tables: Vec<Table>,
    /// Outputs for participants.
    pub public: Vec<Output>,
    /// Outputs for the grader only.
    pub private: Vec<Output>,
    /// Queries that must return no rows.
    pub checks: Vec<Check>,
    /// Accepted leaks, with the reason for each.
    pub accepted: Vec<(Spanned<String>, String)>,
    /// The section `grade`, which `prep-grade` interprets.
    pub grade: Option<Spanned<Grade>>,
    /// The variant.
    pub variant: Variant,
    /// The pipeline file.
    pub source: Arc<SourceFile>,
    /// Warnings about the pipeline in any of its variants.
    pub warnings: Option<Diagnostics>,
}

impl Pipeline {
    /// Returns the queries of all tables, outputs and checks.
    pub fn queries(&self) -> Vec<&Query> {
        let mut found: Vec<&Query> = self.checks.iter().map(|check| &check.query).collect();
        for table in &self.tables {
            match &table.made {
                TableOrigin::Query(query) => found.push(query),
                TableOrigin::Declared(declaration) => declaration.add_queries(&mut found),
                TableOrigin::List(_) => {}
            }
        }
        for output in self.public.iter().chain(&self.private) {
            output.declaration.add_queries(&mut found);
        }
        found
    }
}

/// A variant of a pipeline, as far as it could be parsed.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The pipeline. Parts with errors are empty or left out.
    pub pipeline: Pipeline,
    /// Tables whose content is unknown because of an error.
    pub unread: BTreeSet<String>,
}

/// A version of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// The name of the variant, for example `v1` or `fixed`.
    pub name: String,
    /// Whether the variant has corrections.
    pub differs: bool,
}

/// The archive that Kaggle serves for a competition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// The name of the competition on Kaggle.
    pub kaggle: String,
    /// Published MD5 of the archive: 32 hexadecimal digits.
    pub md5: Option<String>,
}

/// A source in addition to the bundle. Paths in the source are written as `NAME:path`.
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
    /// The file name, which is the only path of the source.
    pub file: String,
    /// Published MD5: 32 hexadecimal digits in lower case.
    pub md5: Option<String>,
    /// Published SHA-256: 64 hexadecimal digits in lower case.
    pub sha256: Option<String>,
    /// The size in bytes that the pipeline states.
    pub size: Option<u64>,
    /// The member of the bundle that is used instead of a download, if the pipeline names one.
    pub member: Option<String>,
}

/// A table, or several tables that are created together.
#[derive(Debug, Clone)]
pub struct Table {
    /// One name for each created table.
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
    /// A query: `name: SELECT ...`
    Query(Query),
    /// A declaration by a kind of the vocabulary, here `read`: `name: { read: train.csv, columns: [...] }`
    Declared(Declaration),
    /// The strings of one of `lists`, in the column `value`.
    List(Vec<String>),
}

/// A query that must return no rows.
#[derive(Debug, Clone)]
pub struct Check {
    /// The name of the check.
    pub name: Spanned<String>,
    /// The query.
    pub query: Query,
}

/// The section `grade`: two paths, and a JSON tree with the metric and the rules.
#[derive(Debug, Clone)]
pub struct Grade {
    /// Path of the answers, `private/...`.
    pub answers: Spanned<String>,
    /// Path of the sample submission, `public/...` or `private/...`.
    pub sample: Spanned<String>,
    /// The reason why the sample submission is invalid, if the pipeline states one.
    pub invalid_sample: Option<String>,
    /// The section without `answers`, `sample` and `invalid_sample`.
    pub rules: serde_json::Value,
    /// The position of each value of `rules` by its JSON pointer, such as `/metric/name`.
    pub places: BTreeMap<String, Span>,
}

impl Grade {
    /// Returns the position in the file of the section's value `text`. With `place`, a line and column in `text` (both
    /// from 1), returns the position of this character instead.
    pub fn locate(
        &self,
        source: &SourceFile,
        text: &str,
        place: Option<(u64, u64)>,
    ) -> Option<Span> {
        let value = |pointer: &str| self.rules.pointer(pointer)?.as_str();
        let mut places = self.places.iter();
        let (_, span) = places.find(|(pointer, _)| value(pointer) == Some(text))?;
        let style = match source.slice(*span).as_bytes().first() {
            Some(b'"') => Style::DoubleQuoted,
            Some(b'\'') => Style::SingleQuoted,
            _ => Style::Plain,
        };
        let located = place.map(|place| align::located(source, *span, style, text, place));
        Some(located.unwrap_or(*span))
    }
}
