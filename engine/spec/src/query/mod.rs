//! SQL in a pipeline: parses a SELECT into a [`QueryTree`].
//!
//! The query engine receives the tree, not the text. Step keys depend only on the tree, so a change of layout or comments
//! does not change them. Errors are reported with line and column in the pipeline file.
//!
//! ```text
//! text ─► token ─► parse ─► tree ─► walk: the tables that the query reads, ...
//!                                └► print: readable SQL
//! ```

mod fault;
mod functions;
mod operators;
mod parse;
mod print;
mod token;
pub mod tree;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::sync::{Arc, OnceLock};

use fault::Fault;
use parse::ParsedTree;
use token::Tokens;
use tree::{Position, QueryTree};

use crate::text::align;
use crate::text::diagnostic::{SourceFile, Span};
use crate::words::query::{Query, QueryUse};

pub(crate) use parse::expression;
pub use walk::Node;

/// The name of the hidden column that contains a row's position.
const ROW: &str = "_row";

/// The message for a column that would have the name of the hidden column.
pub const RESERVED_ROW: &str = "the name `_row` is reserved for a hidden column of every table";

/// Returns whether this is the name of the hidden column. Ignores case.
pub fn is_row(name: &str) -> bool {
    name.eq_ignore_ascii_case(ROW)
}

/// The result of parsing a query's text.
pub(crate) struct ParsedQuery {
    pub tree: QueryTree,
    /// Every mention of a table that the query does not define itself, with its start and end.
    pub tables: Vec<(String, Position, Position)>,
    pub used_lists: BTreeSet<String>,
    /// Starts and ends of the comments that extend to the end of their line.
    pub comments: Vec<(Position, Position)>,
}

/// An error in a query that is not part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryTextError {
    /// Line and column in the query's text, both from 1.
    pub place: (u64, u64),
    /// The message, without the place.
    pub message: String,
    /// The suggested action.
    pub help: Option<String>,
}

impl fmt::Display for QueryTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.place;
        write!(f, "{line}:{column}: {}", self.message)
    }
}

impl Error for QueryTextError {}

impl From<QueryTextError> for String {
    fn from(error: QueryTextError) -> String {
        error.to_string()
    }
}

impl Query {
    /// Parses a query that is not part of a file.
    ///
    /// # Errors
    /// Returns the first error.
    pub fn parse(text: &str) -> Result<Self, QueryTextError> {
        let parsed = read(text, &BTreeMap::new(), QueryUse::Rows);
        let parsed = parsed.map_err(|fault| QueryTextError {
            place: (u64::from(fault.at.line), u64::from(fault.at.column)),
            message: fault.message,
            help: fault.help,
        })?;
        Ok(Self {
            text: text.to_owned(),
            span: Span::new(0, text.len()),
            place: "the query".to_owned(),
            style: None,
            purpose: QueryUse::Rows,
            key: parsed.tree.key(),
            is_copy: parsed.tree.copied_table().is_some(),
            lists: Arc::default(),
            tree: OnceLock::from(Arc::new(parsed.tree)),
            tables: parsed.tables.into_iter().map(|(name, ..)| name).collect(),
        })
    }

    /// Returns the syntax tree. The text is parsed on first use. Otherwise, a run without pending steps would use most
    /// of its memory for the trees of all pipelines.
    pub fn tree(&self) -> &QueryTree {
        self.tree.get_or_init(|| {
            let parsed = read(&self.text, &self.lists, self.purpose);
            #[allow(
                clippy::expect_used,
                reason = "the same text with the same lists was read before"
            )]
            let parsed = parsed.expect("a query that was read can be read again");
            Arc::new(parsed.tree)
        })
    }

    /// Returns the computed columns of the result that have no name, each with its line, column and text.
    pub fn unnamed(&self) -> Vec<(u64, u64, String)> {
        let unnamed = self.tree().unnamed().into_iter();
        let place = |at: Position| (u64::from(at.line), u64::from(at.column));
        let unnamed = unnamed.map(|expr| (place(expr.at), expr.to_string()));
        unnamed
            .map(|((line, column), text)| (line, column, text))
            .collect()
    }

    /// Returns the column names of the result if the select list determines all of them. Returns `None` if the select
    /// list contains a wildcard or a computed column without a name.
    pub fn selected_names(&self) -> Option<Vec<String>> {
        self.tree().selected_names()
    }

    /// Returns whether the query reads a single table and computes each row independently, so that only a few rows are
    /// in memory at a time. Returns `false` if this is not certain.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.tree().is_stream()
    }

    /// Returns the name of the table if the query is `SELECT * FROM table`.
    #[must_use]
    pub fn copied_table(&self) -> Option<&str> {
        let mut tables = self.tables.iter();
        tables.next().filter(|_| self.is_copy).map(String::as_str)
    }

    /// Converts a line and column of the query's text, both from 1, to the position in the pipeline file. Returns the
    /// query's own position if its text is not in the file.
    pub fn locate(&self, source: &SourceFile, line: u64, column: u64) -> Span {
        match self.style {
            Some(style) => align::located(source, self.span, style, &self.text, (line, column)),
            None => self.span,
        }
    }
}

/// Returns the byte offset of a line and column in `text`. If the line is too short, returns the end of the line. If
/// there is no such line, returns the end of the text. Both ends are before trailing whitespace.
pub(crate) fn offset(text: &str, at: Position) -> usize {
    let mut start = 0;
    for (row, line) in text.split_inclusive('\n').zip(1..) {
        if at.line == line {
            let column = usize::try_from(at.column.saturating_sub(1)).unwrap_or(usize::MAX);
            let within = row.char_indices().map(|(at, _)| at).nth(column);
            return start + within.unwrap_or(row.trim_end().len());
        }
        start += row.len();
    }
    text.trim_end().len()
}

/// Parses a query and expands its macros. If `purpose` is [`QueryUse::Files`] and the query selects only `file`, also
/// adds the column `path`.
pub(crate) fn read(
    text: &str,
    lists: &BTreeMap<String, Vec<String>>,
    purpose: QueryUse,
) -> Result<ParsedQuery, Fault> {
    let tokens = Tokens::read(text)?;
    let ParsedTree {
        mut tree,
        used_lists,
    } = parse::query(&tokens, lists)?;
    if purpose == QueryUse::Files {
        tree.body.add_path();
    }
    let tables = tree.reads().tables.into_iter();
    let tables = tables.map(|name| (name.text.clone(), name.at, tokens.end(name.at)));
    Ok(ParsedQuery {
        tables: tables.collect(),
        tree,
        used_lists,
        comments: tokens.comments,
    })
}

impl QueryTree {
    /// Returns the part of step keys that identifies the query: readable SQL, and the hash of the tree's serialization.
    /// Two queries are equal if and only if their serializations are equal.
    pub fn key(&self) -> String {
        let tree = blake3::hash(self.serialized().as_bytes());
        format!("{self} -- {}", tree.to_hex())
    }

    /// Returns the serialization that identifies the query.
    pub fn serialized(&self) -> String {
        #[allow(
            clippy::expect_used,
            reason = "the tree contains no maps, and only finite numbers"
        )]
        let serialized = serde_json::to_string(self).expect("a tree can be serialized");
        serialized
    }
}

/// Returns the query in a key as readable SQL. `None` if the text is not a key.
pub fn sql_of_key(key: &str) -> Option<&str> {
    let (sql, tree) = key.rsplit_once(" -- ")?;
    let is_hash = tree.len() == 64 && tree.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(sql)
}
