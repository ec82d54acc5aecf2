//! A query as a value of a pipeline.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use crate::query::tree::QueryTree;
use crate::text::diagnostic::Span;
use crate::text::yaml::Style;

/// The part of a pipeline that uses a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryUse {
    /// The rows of a table, an output or a check.
    Rows,
    /// The files of a directory. If the query selects only `file`, the files keep their names.
    Files,
}

/// A parsed SELECT statement.
#[derive(Debug, Clone)]
pub struct Query {
    /// The text in the pipeline file.
    pub text: String,
    /// Position of the text.
    pub span: Span,
    /// Position for messages: `taxi.yaml:12:5`.
    pub place: String,
    /// The value of [`QueryTree::key`], which identifies the query in step keys.
    pub key: String,
    /// Tables that the query reads, without parts of WITH.
    pub tables: BTreeSet<String>,
    /// The YAML style, which maps positions in the text to the file. `None` if the text is not in the file.
    pub(crate) style: Option<Style>,
    /// The part of the pipeline that uses the query.
    pub(crate) purpose: QueryUse,
    /// The pipeline's lists, for macros.
    pub(crate) lists: Arc<BTreeMap<String, Vec<String>>>,
    /// Whether the query is `SELECT * FROM table`.
    pub(crate) is_copy: bool,
    /// The syntax tree, parsed on first use.
    pub(crate) tree: OnceLock<Arc<QueryTree>>,
}
