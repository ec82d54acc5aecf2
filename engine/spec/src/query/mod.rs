//! SQL in a pipeline: parses a SELECT, expands its macros, and finds the tables that it reads.
//!
//! Queries are parsed here, before DataFusion processes them. So errors are reported with line and column in the
//! pipeline file, and step keys depend only on the syntax tree, not on layout and comments.

mod each_column;
mod fault;
mod lists;
mod macros;
mod names;
mod placed;
mod stream;
mod subset;
mod unions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use sqlparser::ast::{Query as Tree, Spanned as _, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Whitespace};

use crate::text::align;
use crate::text::diagnostic::{SourceFile, Span};
use crate::words::query::{Query, QueryUse};

pub use names::is_row;

use fault::Fault;

/// Maximum number of tokens in a query. It is limited because expression trees are processed recursively.
const MAX_TOKENS: usize = 4000;

/// Maximum nesting of parentheses, subqueries and prefixes. It is limited for the same reason as [`MAX_TOKENS`].
const MAX_NESTING: usize = 32;

/// The result of parsing a query's text.
pub struct ParsedQuery {
    pub tree: Box<Tree>,
    /// Every mention of a table that the query does not define itself.
    pub tables: Vec<(String, sqlparser::tokenizer::Span)>,
    pub used_lists: BTreeSet<String>,
    /// Comments that extend to the end of their line.
    pub comments: Vec<sqlparser::tokenizer::Span>,
}

impl Query {
    /// Parses a query that is not part of a file.
    ///
    /// # Errors
    /// Returns the first error, with its line and column in `text`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut faults = Vec::new();
        let parsed = read(text, &BTreeMap::new(), QueryUse::Rows, &mut faults);
        if let Some(fault) = faults.first() {
            let Location { line, column } = fault.at;
            return Err(format!("{line}:{column}: {}", fault.message));
        }
        let parsed = parsed.ok_or_else(|| "no query".to_owned())?;
        Ok(Self {
            text: text.to_owned(),
            span: Span::new(0, text.len()),
            place: "the query".to_owned(),
            style: None,
            purpose: QueryUse::Rows,
            normal: parsed.tree.to_string(),
            lists: Arc::default(),
            tree: OnceLock::from(Arc::from(parsed.tree)),
            tables: parsed.tables.into_iter().map(|(name, _)| name).collect(),
        })
    }

    /// Returns the syntax tree with expanded macros (`one_hot`, `constants`). The text is parsed on first use. In a run
    /// without pending steps, the trees of all pipelines would otherwise use more memory than everything else.
    pub fn statement(&self) -> &Tree {
        self.tree.get_or_init(|| {
            let parsed = read(&self.text, &self.lists, self.purpose, &mut Vec::new());
            #[allow(
                clippy::expect_used,
                reason = "the same text with the same lists was read before"
            )]
            let parsed = parsed.expect("a query that was read can be read again");
            Arc::from(parsed.tree)
        })
    }

    /// Returns the computed columns of the result that have no name, each with its line, column and text.
    pub fn unnamed(&self) -> Vec<(u64, u64, String)> {
        let found = subset::unnamed(self.statement());
        let found = found.into_iter();
        found.map(|(at, text)| (at.line, at.column, text)).collect()
    }

    /// Converts a line and column of the query's text, both from 1, to the position in the pipeline file. It accepts
    /// positions from the parser and from DataFusion. Returns the query's own position if its text is not in the file.
    pub fn locate(&self, source: &SourceFile, line: u64, column: u64) -> Span {
        let Some(style) = self.style else {
            return self.span;
        };
        let offset = offset(&self.text, Location { line, column });
        let start = align::place(source, self.span, style, &self.text, offset);
        Span::new(start, start)
    }
}

/// Returns the byte offset of a line and column. If there is no such position, returns the end of the trimmed text.
pub fn offset(text: &str, location: Location) -> usize {
    let Location { line, column } = location;
    let mut start = 0;
    for (index, row) in text.split_inclusive('\n').enumerate() {
        if index as u64 + 1 == line {
            let column = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
            let within = row.char_indices().map(|(at, _)| at).nth(column);
            return start + within.unwrap_or(row.trim_end().len());
        }
        start += row.len();
    }
    text.trim_end().len()
}

/// Parses a query and expands its macros.
pub fn read(
    text: &str,
    lists: &BTreeMap<String, Vec<String>>,
    purpose: QueryUse,
    faults: &mut Vec<Fault>,
) -> Option<ParsedQuery> {
    let mut in_lists = BTreeSet::new();
    let Text {
        mut tree,
        comments,
        words,
    } = match select(text, lists, &mut in_lists) {
        Ok(found) => found,
        Err(fault) => {
            faults.push(fault);
            return None;
        }
    };
    if !names::check(&tree, faults) || !subset::check(&tree, &words, faults) {
        return None;
    }
    let mut used_lists = macros::expand(&mut tree, lists, faults);
    used_lists.append(&mut in_lists);
    if purpose == QueryUse::Files {
        placed::add_path(&mut tree.body);
    }
    let tables = names::tables(&tree);
    Some(ParsedQuery {
        tree,
        tables,
        used_lists,
        comments,
    })
}

/// The only SELECT statement of a text.
struct Text {
    tree: Box<Tree>,
    /// Comments that extend to the end of their line.
    comments: Vec<sqlparser::tokenizer::Span>,
    words: Vec<subset::Word>,
}

fn select(
    text: &str,
    lists: &BTreeMap<String, Vec<String>>,
    used: &mut BTreeSet<String>,
) -> Result<Text, Fault> {
    let dialect = GenericDialect {};
    let tokens = Tokenizer::new(&dialect, text)
        .tokenize_with_location()
        .map_err(|error| Fault::new("sql-syntax", error.location, lower(&error.message)))?;
    let is_comment = |token: &&TokenWithSpan| match &token.token {
        Token::Whitespace(space) => matches!(space, Whitespace::SingleLineComment { .. }),
        _ => false,
    };
    let comments = tokens.iter().filter(is_comment);
    let comments = comments.map(|token| token.span).collect();
    let is_word = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    if tokens.iter().filter(is_word).count() > MAX_TOKENS {
        let message = format!("the query has more than {MAX_TOKENS} words");
        let fault = Fault::new("query-too-long", Location::new(1, 1), message);
        let help = "divide it into several tables, and move long lists of values to `lists`";
        return Err(fault.help(help));
    }
    let tokens = lists::expand(tokens, lists, used)?;
    let words = subset::words(&tokens);
    let mut statements = Parser::new(&dialect)
        .with_recursion_limit(MAX_NESTING)
        .with_tokens_with_locations(tokens)
        .parse_statements()
        .map_err(syntax)?;
    if let Some(second) = statements.get(1) {
        let at = second.span().start;
        return Err(Fault::new("sql-syntax", at, "unexpected second statement")
            .help("write a single query; use `WITH` for the parts of a long query"));
    }
    match statements.pop() {
        None => {
            let at = Location::new(1, 1);
            Err(Fault::new("sql-syntax", at, "the query is empty"))
        }
        Some(Statement::Query(mut tree)) => {
            unions::balance(&mut tree);
            Ok(Text {
                tree,
                comments,
                words,
            })
        }
        Some(_) => Err(names::not_a_select(Location::new(1, 1))),
    }
}

/// Converts a parser error. The parser appends the position to its message, so the position is split off.
fn syntax(error: ParserError) -> Fault {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => "nested too deeply".to_owned(),
    };
    let mut at = Location::empty();
    let mut words = message.as_str();
    if let Some((before, place)) = message.rsplit_once(" at Line: ")
        && let Some((line, column)) = place.split_once(", Column: ")
        && let (Ok(line), Ok(column)) = (line.parse(), column.parse())
    {
        at = Location::new(line, column);
        words = before;
    }
    Fault::new("sql-syntax", at, lower(words))
}

/// Converts a message of the parser to lower case and to a shorter form.
fn lower(message: &str) -> String {
    let message = message
        .replace("Expected: ", "expected ")
        .replace("found: EOF", "found the end")
        .replace("found: ", "found ");
    let mut characters = message.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => message,
    }
}
