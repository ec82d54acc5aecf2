//! Parses the tokens of a query into a [`QueryTree`].
//!
//! SQL outside of this grammar is an error. `unsupported.txt` lists clauses of other SQL dialects, each with the help of
//! its error message. The submodules parse:
//!
//! ```text
//! query    queries, set operations, SELECT and its clauses, FROM      exprs    expressions
//! macros   calls in a select list that create several columns         calls    functions, windows and types
//! ```

mod calls;
mod exprs;
mod macros;
mod query;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::fault::{Fault, Lists};
use super::token::{Token, TokenKind, Tokens};
use super::tree::{Expr, ExprKind, Name, Position, QueryTree, SubqueryKind};
use super::walk::Reads;
use crate::text::suggest::nearest;
use macros::Repetition;

/// Maximum number of tokens in a query.
const MAX_TOKENS: usize = 4000;

/// Keywords that begin clauses, for suggestions.
const CLAUSES: [&str; 8] = [
    "FROM", "WHERE", "GROUP", "HAVING", "QUALIFY", "ORDER", "LIMIT", "JOIN",
];

/// Maximum nesting of parentheses, subqueries and prefixes, because the parser is recursive.
const MAX_NESTING: usize = 40;

/// Maximum depth of expressions. `a + b + c` has one level per operator.
const MAX_DEPTH: usize = 250;

/// Maximum number of nodes that are copied, for example for BETWEEN.
const MAX_COPIED: usize = 20_000;

/// Maximum total number of joins, parts of WITH, and set operations. Each of these can add a level to the plan.
const MAX_PARTS: usize = 100;

/// Maximum number of tables in a SELECT. Planning time is cubic in the number of joined tables.
const MAX_TABLES: usize = 50;

/// Maximum number of tables that a query reads. The tables of a query in WITH are counted again for each use of this
/// query, because each use is planned again.
const MAX_READS: usize = 2000;

/// Keywords that are names only in quotes, or after a dot or AS.
const RESERVED: [&str; 46] = [
    "ALL",
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CROSS",
    "DESC",
    "DISTINCT",
    "ELSE",
    "END",
    "EXCEPT",
    "FALSE",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INTERSECT",
    "INTO",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NATURAL",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "QUALIFY",
    "RIGHT",
    "SELECT",
    "THEN",
    "TRUE",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
];

pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED
        .iter()
        .any(|keyword| keyword.eq_ignore_ascii_case(word))
}

/// Returns whether a call with this name is parsed as an ordinary call of a function.
pub(super) fn is_function(name: &str) -> bool {
    let special = "array cast columns constants exists multi_hot one_hot safe_cast try_cast";
    let is_unsupported = |words: &[&str]| match words {
        [word, "("] => word.eq_ignore_ascii_case(name),
        _ => false,
    };
    let is_special = special.split(' ').any(|special| special == name);
    let is_clause = is_reserved(name) && !matches!(name, "left" | "right");
    !is_special && !is_clause && !UNSUPPORTED.iter().any(|(words, _)| is_unsupported(words))
}

/// The entries of `unsupported.txt`: the words with which the clause begins, and its help.
static UNSUPPORTED: LazyLock<Vec<(Vec<&str>, &str)>> = LazyLock::new(|| {
    let lines = include_str!("unsupported.txt").lines();
    let lines = lines.filter_map(|line| line.split_once(" ="));
    lines
        .map(|(words, help)| (words.split(' ').collect(), help.trim_start()))
        .collect()
});

type Parsed<T> = Result<T, Fault>;

/// A tree, and the names of the lists that were replaced by their strings.
pub(super) struct ParsedTree {
    pub tree: QueryTree,
    pub used_lists: BTreeSet<String>,
}

/// Parses the tokens of a single query, and checks the query's names and size.
pub(super) fn query(tokens: &Tokens, lists: &Lists) -> Parsed<ParsedTree> {
    if tokens.all.len() > MAX_TOKENS + 1 {
        let message = format!("the query has more than {MAX_TOKENS} words");
        let help =
            "write parts of the query as separate tables, and move long lists of values to `lists`";
        return Err(Fault::new("query-too-long", Position::START, message).help(help));
    }
    let mut parser = Parser::new(tokens, lists);
    if parser.is_end() {
        return Err(Fault::syntax(Position::START, "the query is empty"));
    }
    let tree = parser.query()?;
    if parser.take(";") && !parser.is_end() {
        let fault = Fault::syntax(parser.at(), "unexpected second statement");
        return Err(fault.help("write a single query; use `WITH` for the parts of a long query"));
    }
    parser.expect_end()?;
    query::check_names(&tree)?;
    check_size(&tree)?;
    Ok(ParsedTree {
        tree,
        used_lists: parser.used_lists,
    })
}

/// Rejects a query that reads or combines too many tables.
fn check_size(tree: &QueryTree) -> Parsed<()> {
    let Reads {
        count,
        parts,
        joined,
        ..
    } = tree.reads();
    let (message, help) = if joined > MAX_TABLES {
        let help = "join some of them in a separate table, or combine them as rows with UNION ALL";
        (
            format!("a SELECT joins more than {MAX_TABLES} tables"),
            help,
        )
    } else if parts > MAX_PARTS {
        let message = format!(
            "the query has more than {MAX_PARTS} joins, parts of WITH and set operations in total"
        );
        (message, "write parts of the query as separate tables")
    } else if count > MAX_READS {
        let message = format!(
            "the query reads more than {MAX_READS} tables; each use of a part of WITH reads its tables again"
        );
        (message, "write the parts of WITH as separate tables")
    } else {
        return Ok(());
    };
    Err(Fault::new("query-too-long", tree.at, message).help(help))
}

/// Parses an expression that is not part of a query. Returns `None` if it is invalid.
pub(crate) fn expression(text: &str) -> Option<Expr> {
    let (tokens, lists) = (Tokens::read(text).ok()?, Lists::new());
    let mut parser = Parser::new(&tokens, &lists);
    let expr = parser.expr().ok()?;
    parser.is_end().then_some(expr)
}

/// The content of parentheses.
enum Parenthesized {
    Query(QueryTree),
    Expr(Expr),
}

/// Returns the expression for a query in parentheses. Its value is the only cell of the query's result.
fn value_of(query: QueryTree) -> ExprKind {
    let (kind, query) = (SubqueryKind::Value, Box::new(query));
    ExprKind::Subquery { kind, query }
}

struct Parser<'p> {
    tokens: &'p [Token],
    /// The index of the next token.
    next: usize,
    /// The pipeline's lists of strings, by name.
    lists: &'p Lists,
    used_lists: BTreeSet<String>,
    /// Set while an item of a select list is parsed: `columns(NAME)` in the item repeats the item for each column name in the
    /// list NAME.
    repetition: Option<Repetition>,
    /// The depth of the deepest parsed part of the current expression.
    depth: usize,
    /// Number of nodes that were copied, for example for BETWEEN.
    copied: usize,
    /// Number of queries and expressions that enclose the current token.
    nesting: usize,
}

impl<'p> Parser<'p> {
    fn new(tokens: &'p Tokens, lists: &'p Lists) -> Self {
        Self {
            tokens: &tokens.all,
            next: 0,
            lists,
            used_lists: BTreeSet::new(),
            repetition: None,
            depth: 0,
            copied: 0,
            nesting: 0,
        }
    }

    fn token(&self, ahead: usize) -> Option<&'p Token> {
        self.tokens.get(self.next + ahead)
    }

    fn kind(&self) -> TokenKind {
        self.token(0).map_or(TokenKind::End, |token| token.kind)
    }

    fn at(&self) -> Position {
        self.token(0).map_or(Position::START, |token| token.start)
    }

    /// Skips `ahead` tokens without consuming them, and returns whether the token after them is `word`.
    ///
    /// The word `'` matches any string, and the word `0` matches any number. A token before a dot is the name of a table
    /// and therefore matches no keyword.
    fn is_ahead(&self, ahead: usize, word: &str) -> bool {
        let is_dot = |token: &Token| token.kind == TokenKind::Symbol && token.text == ".";
        self.token(ahead).is_some_and(|token| match token.kind {
            TokenKind::Word if self.token(ahead + 1).is_some_and(is_dot) => false,
            TokenKind::Word | TokenKind::Symbol => token.text.eq_ignore_ascii_case(word),
            TokenKind::Text => word == "'",
            TokenKind::Number => word == "0",
            TokenKind::Name | TokenKind::End => false,
        })
    }

    /// Returns whether the next tokens are `words`: keywords and symbols separated by spaces.
    fn is(&self, words: &str) -> bool {
        let mut words = words.split(' ').enumerate();
        words.all(|(ahead, word)| self.is_ahead(ahead, word))
    }

    fn is_any(&self, words: &str) -> bool {
        words.split(' ').any(|word| self.is(word))
    }

    /// Skips `words` if they are the next tokens. Returns whether they are.
    fn take(&mut self, words: &str) -> bool {
        let is_next = self.is(words);
        if is_next {
            self.next += words.split(' ').count();
        }
        is_next
    }

    fn expect(&mut self, words: &str) -> Parsed<()> {
        match self.take(words) {
            true => Ok(()),
            false => Err(self.unexpected(words)),
        }
    }

    fn is_end(&self) -> bool {
        self.kind() == TokenKind::End
    }

    fn expect_end(&self) -> Parsed<()> {
        match self.is_end() {
            true => Ok(()),
            false => Err(self.unexpected("end of statement")),
        }
    }

    /// Returns the error for a next token that is not `expected`.
    fn unexpected(&self, expected: &str) -> Fault {
        if let Err(fault) = self.reject_unsupported(1) {
            return fault;
        }
        let found = self.token(0).map_or("", |token| token.text.as_str());
        let found = match self.kind() {
            TokenKind::End => "the end".to_owned(),
            TokenKind::Text => format!("'{found}'"),
            _ => found.to_owned(),
        };
        let fault = Fault::syntax(self.at(), format!("expected {expected}, found {found}"));
        match (expected, found.as_str()) {
            (")", "the end" | "FROM" | "WHERE") => fault.help("each `(` needs a `)`"),
            _ => match self.misspelled_clause() {
                Some((written, clause)) => {
                    fault.help(format!("did you mean `{clause}` instead of `{written}`?"))
                }
                None => fault,
            },
        }
    }

    /// Examines the previous and the next token. Returns the first of them that is similar to the keyword of a clause,
    /// and this keyword. The parser reads a misspelled keyword as an alias, so it often fails only at the token after
    /// it.
    fn misspelled_clause(&self) -> Option<(&str, &'static str)> {
        let last = self.next.checked_sub(1).and_then(|at| self.tokens.get(at));
        let mut words = [last, self.token(0)].into_iter().flatten();
        words.find_map(|token| {
            let written = token.text.as_str();
            let clause = nearest(written, CLAUSES).filter(|_| token.kind == TokenKind::Word)?;
            (!clause.eq_ignore_ascii_case(written)).then_some((written, clause))
        })
    }

    /// Returns an error if the next tokens are an entry of `unsupported.txt` that has at least `min` words.
    fn reject_unsupported(&self, min: usize) -> Parsed<()> {
        let is_next = |words: &[&str]| {
            let mut words = words.iter().enumerate();
            words.all(|(ahead, word)| self.is_ahead(ahead, word))
        };
        let mut all = UNSUPPORTED.iter().filter(|(words, _)| words.len() >= min);
        match all.find(|(words, _)| is_next(words)) {
            None => Ok(()),
            Some((words, help)) => {
                let words = words.join(" ");
                let words = words.trim_end_matches([' ', '(', '{', '\'', '0']);
                let words = if words.is_empty() { "{" } else { words };
                Err(Fault::unsupported(self.at(), words, help))
            }
        }
    }

    /// Calls `parse` one nesting level deeper. Returns an error if that level is too deep.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting == MAX_NESTING {
            let message = format!("nested more than {MAX_NESTING} levels deep");
            return Err(Fault::new("query-too-long", self.at(), message));
        }
        self.nesting += 1;
        let parsed = parse(self);
        self.nesting -= 1;
        parsed
    }

    /// Parses one or more elements that are separated by commas.
    fn list<T>(&mut self, mut parse: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut elements = vec![parse(self)?];
        while self.take(",") {
            elements.push(parse(self)?);
        }
        Ok(elements)
    }

    /// Calls `parse` after `words`, if they are the next tokens.
    fn maybe<T>(
        &mut self,
        words: &str,
        parse: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<Option<T>> {
        match self.take(words) {
            true => parse(self).map(Some),
            false => Ok(None),
        }
    }

    /// Returns the next token if it is a name. With `allows_reserved`, keywords are names.
    fn next_name(&self, allows_reserved: bool) -> Option<Name> {
        let token = self.token(0)?;
        let is_name = match token.kind {
            TokenKind::Name => true,
            TokenKind::Word => allows_reserved || !is_reserved(&token.text),
            TokenKind::Text | TokenKind::Number | TokenKind::Symbol | TokenKind::End => false,
        };
        is_name.then(|| Name {
            text: token.text.clone(),
            at: token.start,
        })
    }

    /// Parses a name where nothing else is possible, so that keywords are names, too.
    fn name(&mut self) -> Parsed<Name> {
        let name = self.next_name(true);
        let name = name.ok_or_else(|| self.unexpected("a name"))?;
        self.next += 1;
        Ok(name)
    }

    fn names(&mut self) -> Parsed<Vec<Name>> {
        self.expect("(")?;
        let names = self.list(Self::name)?;
        self.expect(")")?;
        Ok(names)
    }

    /// Parses a name after AS, or a name without AS that cannot be anything else.
    fn maybe_alias(&mut self) -> Parsed<Option<Name>> {
        if self.take("AS") {
            return self.name().map(Some);
        }
        match self.next_name(false) {
            None => Ok(None),
            Some(name) => {
                self.reject_unsupported(1)?;
                self.next += 1;
                Ok(Some(name))
            }
        }
    }
}
