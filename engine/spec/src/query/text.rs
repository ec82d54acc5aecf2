//! Parses a query's text with `sqlparser`: tokens, lists, and the only statement.

use std::collections::BTreeSet;

use sqlparser::ast::{Expr, Query as Ast, Spanned as _, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Whitespace};

use super::fault::{Fault, Lists};
use super::lists;
use super::tree::Position;

/// Maximum number of tokens in a query. It is limited because expression trees are processed recursively.
const MAX_TOKENS: usize = 4000;

/// Maximum nesting of parentheses, subqueries and prefixes. It is limited for the same reason as [`MAX_TOKENS`].
const MAX_NESTING: usize = 32;

impl Position {
    /// The start of a text.
    pub(crate) const START: Position = Position { line: 1, column: 1 };

    /// Line and column, which can be compared. Positions themselves are all equal.
    pub(super) fn pair(self) -> (u32, u32) {
        (self.line, self.column)
    }
}

impl From<Location> for Position {
    fn from(Location { line, column }: Location) -> Self {
        let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        Position {
            line: number(line),
            column: number(column),
        }
    }
}

/// The only SELECT statement of a text.
pub(super) struct Text {
    pub ast: Box<Ast>,
    /// Starts and ends of the comments that extend to the end of their line.
    pub comments: Vec<(Position, Position)>,
    pub words: Words,
}

pub(super) fn select(
    text: &str,
    lists: &Lists,
    used: &mut BTreeSet<String>,
) -> Result<Text, Fault> {
    let dialect = GenericDialect {};
    let tokens = Tokenizer::new(&dialect, text)
        .tokenize_with_location()
        .map_err(|error| Fault::new("sql-syntax", error.location.into(), lower(&error.message)))?;
    let is_comment = |token: &&TokenWithSpan| match &token.token {
        Token::Whitespace(space) => matches!(space, Whitespace::SingleLineComment { .. }),
        _ => false,
    };
    let comments = tokens.iter().filter(is_comment);
    let comments = comments.map(|token| (token.span.start.into(), token.span.end.into()));
    let comments = comments.collect();
    let is_word = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    if tokens.iter().filter(is_word).count() > MAX_TOKENS {
        let message = format!("the query has more than {MAX_TOKENS} words");
        let fault = Fault::new("query-too-long", Position::START, message);
        let help = "divide it into several tables, and move long lists of values to `lists`";
        return Err(fault.help(help));
    }
    let tokens = lists::expand(tokens, lists, used)?;
    let words = Words::new(&tokens);
    let mut statements = Parser::new(&dialect)
        .with_recursion_limit(MAX_NESTING)
        .with_tokens_with_locations(tokens)
        .parse_statements()
        .map_err(syntax)?;
    if let Some(second) = statements.get(1) {
        let at = second.span().start.into();
        return Err(Fault::new("sql-syntax", at, "unexpected second statement")
            .help("write a single query; use `WITH` for the parts of a long query"));
    }
    match statements.pop() {
        None => Err(Fault::new(
            "sql-syntax",
            Position::START,
            "the query is empty",
        )),
        Some(Statement::Query(ast)) => Ok(Text {
            ast,
            comments,
            words,
        }),
        Some(_) => Err(Fault::not_a_select()),
    }
}

/// Parses a text that consists of an expression. Returns `None` if it does not.
pub(super) fn expression(text: &str) -> Option<Expr> {
    let mut parser = Parser::new(&GenericDialect {}).try_with_sql(text).ok()?;
    let expr = parser.parse_expr().ok()?;
    (parser.peek_token() == Token::EOF).then_some(expr)
}

/// Converts a parser error. The parser appends the position to its message, so the position is split off.
fn syntax(error: ParserError) -> Fault {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => "nested too deeply".to_owned(),
    };
    let mut at = Position::default();
    let mut words = message.as_str();
    if let Some((before, place)) = message.rsplit_once(" at Line: ")
        && let Some((line, column)) = place.split_once(", Column: ")
        && let (Ok(line), Ok(column)) = (line.parse(), column.parse())
    {
        at = Position { line, column };
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

/// The tokens of a query by position. Clauses and operators are located by them, because the parser's tree does not
/// contain the positions of clauses.
#[derive(Default)]
pub(super) struct Words(Vec<Word>);

struct Word {
    /// The text, in upper case if it is an unquoted word. Empty for quoted names and texts.
    text: String,
    start: Position,
    end: Position,
}

impl Words {
    fn new(tokens: &[TokenWithSpan]) -> Self {
        let word = |token: &TokenWithSpan| {
            let text = match &token.token {
                Token::Word(word) if word.quote_style.is_none() => word.value.to_uppercase(),
                Token::Word(_) | Token::SingleQuotedString(_) => String::new(),
                Token::Whitespace(Whitespace::MultiLineComment(text)) if text.starts_with('+') => {
                    "/*+".to_owned()
                }
                Token::Whitespace(_) => return None,
                other => other.to_string().to_uppercase(),
            };
            Some(Word {
                text,
                start: token.span.start.into(),
                end: token.span.end.into(),
            })
        };
        Self(tokens.iter().filter_map(word).collect())
    }

    /// Returns the position of the first token.
    pub fn start(&self) -> Position {
        self.0.first().map_or(Position::START, |word| word.start)
    }

    /// Returns the index of the first token at or after a position.
    fn index(&self, at: Position) -> usize {
        self.0.partition_point(|word| word.start.pair() < at.pair())
    }

    /// Returns the position of the token `steps` before the one at a position.
    pub fn before(&self, at: Position, steps: usize) -> Position {
        let index = self.index(at).checked_sub(steps);
        let word = index.and_then(|index| self.0.get(index));
        word.map_or(at, |word| word.start)
    }

    /// Returns the position of the last word `text` before a position, among the few tokens before it.
    pub fn last(&self, text: &str, at: Position) -> Position {
        let before = self.0.get(..self.index(at)).unwrap_or_default();
        let word = before.iter().rev().take(4).find(|word| word.text == text);
        word.map_or(at, |word| word.start)
    }

    /// Returns the position of the first sequence of words at or after a position.
    pub fn find(&self, words: &str, at: Position) -> Option<Position> {
        let expected: Vec<&str> = words.split(' ').collect();
        let rest = self.0.get(self.index(at)..).unwrap_or_default();
        let is_found = |found: &&[Word]| found.iter().map(|word| &word.text).eq(&expected);
        let found = rest.windows(expected.len()).find(is_found)?;
        found.first().map(|word| word.start)
    }

    /// Returns the end of the token that starts at a position.
    pub fn end(&self, at: Position) -> Position {
        self.0.get(self.index(at)).map_or(at, |word| word.end)
    }
}
