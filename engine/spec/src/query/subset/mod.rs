//! The supported subset of SQL. It contains only constructs that are known to work.
//!
//! The parser accepts the clauses of many databases, and the planner ignores many clauses that it does not know. A
//! clause without effect is worse than an error. Therefore every node of the tree is destructured field by field and
//! without `..`. If a later version of the parser adds a field, the code does not compile. If it adds a variant, that
//! variant is an error.
//!
//! ```text
//! clauses   queries, set operations, SELECT and its clauses      exprs    expressions and literals
//! tables    FROM: tables, subqueries, joins                      calls    functions and windows
//! types     types in CAST                                        names    computed columns that need a name
//! ```

mod calls;
mod clauses;
mod exprs;
mod names;
mod tables;
mod types;

use sqlparser::ast::Query as Tree;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Whitespace};

use super::fault::Fault;

pub(super) use names::unnamed;

/// Maximum number of joins, parts of WITH, EXCEPTs and INTERSECTs in a query. The depth of the query's plan is that
/// number, and plans are processed recursively.
const MAX_PARTS: usize = 100;

/// Maximum number of tables in a SELECT. Planning a chain of joins takes time cubic in the number of tables.
const MAX_TABLES: usize = 50;

/// Maximum number of tables that a query reads. The planner inserts a part of WITH wherever it is used, so parts that use
/// the previous part twice double the plan each.
const MAX_READS: usize = 2000;

/// Reports each part of a query that would have no effect, or a different effect than expected. Returns true if it
/// reports nothing.
pub(super) fn check(tree: &Tree, words: &[Word], faults: &mut Vec<Fault>) -> bool {
    let at = words.first().map_or(Location::new(1, 1), |word| word.at);
    let before = faults.len();
    let mut subset = Subset {
        words,
        faults,
        at,
        parts: 0,
        tables: 0,
        reads: 0,
        defined: Vec::new(),
    };
    subset.query(tree);
    let Subset {
        parts,
        tables,
        reads,
        ..
    } = subset;
    if tables > MAX_TABLES {
        let message = format!("a SELECT joins more than {MAX_TABLES} tables");
        let fault = Fault::new("query-too-long", at, message);
        let help = "join some of them in a separate table, or combine them as rows with UNION ALL";
        faults.push(fault.help(help));
        return false;
    }
    if parts > MAX_PARTS {
        let message = format!("the query has more than {MAX_PARTS} joins and parts");
        let fault = Fault::new("query-too-long", at, message);
        faults.push(fault.help("divide it into several tables"));
    }
    if reads > MAX_READS {
        let message = format!(
            "the query reads more than {MAX_READS} tables, if each use of a part of WITH is counted"
        );
        let fault = Fault::new("query-too-long", at, message);
        faults.push(fault.help("write the parts of WITH as separate tables"));
    }
    faults.len() == before
}

/// A token of a query's text, with its position.
#[derive(Debug)]
pub(super) struct Word {
    /// The text, in upper case if it is an unquoted word. Empty for quoted names and texts.
    text: String,
    at: Location,
}

/// Returns the tokens by which clauses are located, because the tree does not contain the positions of clauses.
pub(super) fn words(tokens: &[TokenWithSpan]) -> Vec<Word> {
    let word = |token: &TokenWithSpan| {
        let text = match &token.token {
            Token::Word(word) if word.quote_style.is_none() => word.value.to_uppercase(),
            Token::Word(_) | Token::SingleQuotedString(_) => return None,
            Token::Whitespace(Whitespace::MultiLineComment(text)) if text.starts_with('+') => {
                "/*+".to_owned()
            }
            Token::Whitespace(_) => return None,
            other => other.to_string().to_uppercase(),
        };
        let at = token.span.start;
        Some(Word { text, at })
    };
    tokens.iter().filter_map(word).collect()
}

/// Walks a query and reports each part that is not in the subset.
struct Subset<'w, 'f> {
    words: &'w [Word],
    faults: &'f mut Vec<Fault>,
    /// The nearest known position at or before the current node.
    at: Location,
    /// Number of joins and other parts that increase the depth of the plan.
    parts: usize,
    /// Largest number of tables in a SELECT so far.
    tables: usize,
    /// Number of tables that the query reads so far. Each use of a part of WITH adds the tables that the part reads.
    reads: usize,
    /// The parts of WITH that can be used here, each with the number of tables that it reads.
    defined: Vec<(String, usize)>,
}

impl Subset<'_, '_> {
    /// Reports the first clause at or after the current position that begins with `words`.
    fn clause(&mut self, words: &str, help: &str) {
        let expected: Vec<&str> = words.split(' ').collect();
        let follows = |found: &&[Word]| {
            let is_after = found.first().is_some_and(|word| word.at >= self.at);
            is_after && found.iter().map(|word| &word.text).eq(&expected)
        };
        let found = self.words.windows(expected.len()).find(follows);
        let at = found.and_then(|found| found.first());
        let at = at.map_or(self.at, |word| word.at);
        self.reject(at, words, help);
    }

    /// Reports that the construct at a position is not supported.
    fn reject(&mut self, at: Location, what: &str, help: &str) {
        self.report(at, format!("`{what}` is not supported"), help);
    }

    fn report(&mut self, at: Location, message: String, help: &str) {
        let fault = Fault::new("unsupported-sql", at, message);
        self.faults.push(match help {
            "" => fault,
            help => fault.help(help),
        });
    }

    /// Returns the start of a span. If the tree has no position, returns the nearest known position before it.
    fn start(&self, span: Span) -> Location {
        match span.start.line {
            0 => self.at,
            _ => span.start,
        }
    }

    /// Runs `check` inside a span. Clauses are then searched for from the start of the span.
    fn inside(&mut self, span: Span, check: impl FnOnce(&mut Self)) {
        let outside = self.at;
        self.at = self.start(span);
        check(self);
        self.at = outside;
    }
}
