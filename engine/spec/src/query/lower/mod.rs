//! Converts the parser's syntax tree into a [`QueryTree`], and reports everything that the subset does not contain.
//!
//! The parser accepts the clauses of many databases. A clause without effect is worse than an error. Therefore every
//! node that is converted is destructured field by field and without `..`: if a later version of the parser adds a
//! field, the code does not compile. All other variants are errors, so this pass is the only list of supported SQL.
//!
//! ```text
//! clauses   queries, set operations, SELECT and its clauses      exprs    expressions
//! tables    FROM: tables, subqueries, joins                      values   literals and types
//! macros    calls in a select list that create several columns   calls    functions and windows
//! limits    limits of the size of queries
//! ```
//!
//! A part with an error is replaced by any other part, so that all errors of a query are found at once. The tree of a
//! query with errors is not used.

mod calls;
mod clauses;
mod exprs;
mod limits;
mod macros;
mod tables;
mod values;

use std::collections::BTreeSet;

use sqlparser::ast::{Ident, ObjectName};
use sqlparser::tokenizer::Span;

use super::fault::{Fault, Lists};
use super::text::{Text, Words, expression};
use super::tree::{Expr, ExprKind, Name, Position, QueryTree};
use limits::Limits;
use macros::Repetition;

/// A tree and the lists that it contains.
pub(super) struct Lowered {
    pub tree: QueryTree,
    pub used_lists: BTreeSet<String>,
}

/// Converts a query. Returns `None` if the query contains SQL that is not supported. Wrong uses of macros and reserved
/// names are reported, too, but they do not prevent that the tables of the query are found.
pub(super) fn query(text: &Text, lists: &Lists, faults: &mut Vec<Fault>) -> Option<Lowered> {
    let mut lowering = Lowering::new(&text.words, lists, faults);
    let tree = lowering.query(&text.ast);
    lowering.check_names(&tree);
    lowering.check_limits();
    let Lowering {
        is_supported,
        used_lists,
        ..
    } = lowering;
    is_supported.then_some(Lowered { tree, used_lists })
}

/// Converts an expression that is not part of a query. Returns `None` if it is not valid.
pub(crate) fn expr(text: &str) -> Option<Expr> {
    let (words, lists, mut faults) = (Words::default(), Lists::new(), Vec::new());
    let ast = expression(text)?;
    let expr = Lowering::new(&words, &lists, &mut faults).expr(&ast);
    faults.is_empty().then_some(expr)
}

struct Lowering<'a> {
    words: &'a Words,
    lists: &'a Lists,
    faults: &'a mut Vec<Fault>,
    used_lists: BTreeSet<String>,
    /// The nearest known position at or before the current node.
    at: Position,
    /// Whether all parts of the query so far are supported.
    is_supported: bool,
    /// Number of expressions that enclose the current one.
    depth: usize,
    /// The item of a select list that is being converted, for `columns(list)`.
    repetition: Option<Repetition>,
    limits: Limits,
}

impl<'a> Lowering<'a> {
    fn new(words: &'a Words, lists: &'a Lists, faults: &'a mut Vec<Fault>) -> Self {
        Self {
            words,
            lists,
            faults,
            used_lists: BTreeSet::new(),
            at: words.start(),
            is_supported: true,
            depth: 0,
            repetition: None,
            limits: Limits::default(),
        }
    }

    /// Reports the first clause at or after the current position that begins with `words`.
    fn clause(&mut self, words: &str, help: &str) {
        let at = self.words.find(words, self.at).unwrap_or(self.at);
        self.reject(at, words, help);
    }

    /// Reports that the construct at a position is not supported.
    fn reject(&mut self, at: Position, what: &str, help: &str) {
        self.report(at, format!("`{what}` is not supported"), help);
    }

    fn report(&mut self, at: Position, message: String, help: &str) {
        let fault = Fault::new("unsupported-sql", at, message);
        self.unsupported(match help {
            "" => fault,
            help => fault.help(help),
        });
    }

    fn unsupported(&mut self, fault: Fault) {
        self.faults.push(fault);
        self.is_supported = false;
    }

    /// Reports that an expression is not supported. Returns an expression in its place.
    fn rejected(&mut self, at: Position, what: &str, help: &str) -> Expr {
        self.reject(at, what, help);
        placeholder(at)
    }

    /// Returns the start of a span. If the tree has no position, returns the nearest known position before it.
    fn start(&self, span: Span) -> Position {
        match span.start.line {
            0 => self.at,
            _ => span.start.into(),
        }
    }

    /// Runs `lower` inside a span. Clauses are then searched for from the start of the span.
    fn inside<T>(&mut self, span: Span, lower: impl FnOnce(&mut Self) -> T) -> T {
        let start = self.start(span);
        let outside = std::mem::replace(&mut self.at, start);
        let lowered = lower(self);
        self.at = outside;
        lowered
    }

    fn name(&self, ident: &Ident) -> Name {
        let Ident {
            value,
            quote_style: _,
            span,
        } = ident;
        Name {
            text: value.clone(),
            at: self.start(*span),
        }
    }
}

/// Returns an expression in place of an expression with an error. It causes no further errors.
fn placeholder(at: Position) -> Expr {
    let name = Name {
        text: String::new(),
        at,
    };
    ExprKind::Column { table: None, name }.at(at)
}

/// Returns the name if it has a single part, without dots.
fn single(name: &ObjectName) -> Option<&Ident> {
    match name.0.as_slice() {
        [part] => part.as_ident(),
        _ => None,
    }
}
