//! SQL in a pipeline: parses a SELECT into a [`QueryTree`]. Whitespace and comments are not part of the tree.
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
use tree::{Item, Position, QueryTree};

use crate::text::align;
use crate::text::diagnostic::{SourceFile, Span};
use crate::words::query::{Query, QueryUse};

pub(crate) use parse::expression;
pub use walk::Node;

/// The name of the hidden column that contains the number of each row.
const ROW: &str = "_row";

/// The message about a column with the reserved name.
pub const RESERVED_ROW: &str = "the name `_row` is reserved for a hidden column of every table";

/// Returns whether a name is the name of the hidden column. Ignores case.
pub fn is_row(name: &str) -> bool {
    name.eq_ignore_ascii_case(ROW)
}

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
    /// The first error.
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

    /// Returns the syntax tree, which is parsed on first use to save memory.
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

    /// Returns the computed columns without a name, each with its line, column and text.
    pub fn unnamed(&self) -> Vec<(u64, u64, String)> {
        let unnamed = self.tree().unnamed().into_iter();
        let place = |at: Position| (u64::from(at.line), u64::from(at.column));
        let unnamed = unnamed.map(|expr| (place(expr.at), expr.to_string()));
        unnamed
            .map(|((line, column), text)| (line, column, text))
            .collect()
    }

    /// Returns line and column of the expression that computes the column `name`, if it is in the select list.
    pub fn place_of(&self, name: &str) -> Option<(u64, u64)> {
        let select = self.tree().body.first_select()?;
        let mut items = select.items.iter();
        items.find_map(|item| match item {
            Item::Expr {
                expr,
                name: Some(alias),
            } if alias.text == name => Some((u64::from(expr.at.line), u64::from(expr.at.column))),
            _ => None,
        })
    }

    /// Returns the column names, unless the select list contains a wildcard or an unnamed column.
    pub fn selected_names(&self) -> Option<Vec<String>> {
        self.tree().selected_names()
    }

    /// Returns whether the query computes each row of a single table independently. May return false even if it does.
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

    /// Converts a line and column of the query's text, both from 1, to a position in the pipeline file.
    pub fn locate(&self, source: &SourceFile, line: u64, column: u64) -> Span {
        match self.style {
            Some(style) => align::located(source, self.span, style, &self.text, (line, column)),
            None => self.span,
        }
    }
}

/// Converts `at`, a line and column in `text`, to a byte offset. If the line is shorter, returns the end of the line.
/// If there is no such line, returns the end of the text.
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

/// Parses a query. With [`QueryUse::Files`], adds the column `path` to a query that selects only `file`.
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
    /// Returns readable SQL and the hash of the serialized tree, for step keys.
    pub fn key(&self) -> String {
        let tree = blake3::hash(self.serialized().as_bytes());
        format!("{self} -- {}", tree.to_hex())
    }

    /// Returns a string that is equal for two queries if and only if their trees are equal.
    pub fn serialized(&self) -> String {
        #[allow(
            clippy::expect_used,
            reason = "the tree contains no maps, and only finite numbers"
        )]
        let serialized = serde_json::to_string(self).expect("a tree can be serialized");
        serialized
    }
}

/// Returns the readable SQL in a value of [`QueryTree::key`]. `None` for other strings.
pub fn sql_of_key(key: &str) -> Option<&str> {
    let (sql, tree) = key.rsplit_once(" -- ")?;
    let is_hash = tree.len() == 64 && tree.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(sql)
}
