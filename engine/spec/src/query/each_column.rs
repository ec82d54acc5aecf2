//! Expands `columns(list)`. An expression that contains it is repeated for each name in the list.
//!
//! - `columns(votes) / total` becomes `lpd / total AS lpd, gpd / total AS gpd, ...`.
//! - `t.columns(votes)` refers to columns of the table `t`.
//! - `columns('a', 'b')` names the columns directly instead of using a list.
//!
//! `* EXCLUDE columns(list)` is expanded before the text is parsed, in [`super::lists`].

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArguments, Ident, SelectItem, Visit, VisitMut, Visitor, VisitorMut,
};

use super::fault::Fault;
use super::macros::{Expander, MAX_COLUMNS, place, plain_args};

/// Returns whether a function is `columns` or `table.columns`.
pub fn is_columns(function: &Function) -> bool {
    let last = function.name.0.last().and_then(|part| part.as_ident());
    function.name.0.len() <= 2
        && last.is_some_and(|name| {
            name.quote_style.is_none() && name.value.eq_ignore_ascii_case("columns")
        })
}

/// Returns the calls of `columns` in an expression, without those in subqueries.
fn calls(expr: &Expr) -> Vec<Function> {
    struct Finder(Vec<Function>, usize);
    impl Visitor for Finder {
        type Break = ();
        fn pre_visit_query(&mut self, _: &sqlparser::ast::Query) -> ControlFlow<()> {
            self.1 += 1;
            ControlFlow::Continue(())
        }
        fn post_visit_query(&mut self, _: &sqlparser::ast::Query) -> ControlFlow<()> {
            self.1 -= 1;
            ControlFlow::Continue(())
        }
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::Function(function) = expr
                && self.1 == 0
                && is_columns(function)
            {
                self.0.push(function.clone());
            }
            ControlFlow::Continue(())
        }
    }
    let mut finder = Finder(Vec::new(), 0);
    let _: ControlFlow<()> = Visit::visit(expr, &mut finder);
    finder.0
}

impl Expander<'_> {
    /// Returns the items that replace an item with `columns`. `None` for other items.
    pub(super) fn each_column(
        &mut self,
        item: &SelectItem,
    ) -> Option<Result<Vec<SelectItem>, Fault>> {
        let (expr, alias) = match item {
            SelectItem::UnnamedExpr(expr) => (expr, None),
            SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias)),
            _ => return None,
        };
        let calls = calls(expr);
        let first = calls.first()?;
        if let Some(alias) = alias {
            let message = "`columns` creates several columns and cannot have one name";
            let fault = Fault::new("bad-macro", alias.span.start, message);
            return Some(Err(fault.help("remove AS; each column keeps its name")));
        }
        Some(self.expressions(expr, first, &calls))
    }

    fn expressions(
        &mut self,
        expr: &Expr,
        first: &Function,
        calls: &[Function],
    ) -> Result<Vec<SelectItem>, Fault> {
        let texts = self.names(first)?;
        for other in calls {
            if self.names(other)? != texts {
                let message = "an expression cannot have `columns` of two lists";
                return Err(Fault::new("bad-macro", place(other), message)
                    .help("use the same list, or write the columns of one of them"));
            }
        }
        let mut items = Vec::with_capacity(texts.len());
        for text in texts {
            let mut expr = expr.clone();
            let mut replacer = Replacer { name: &text };
            let _: ControlFlow<()> = VisitMut::visit(&mut expr, &mut replacer);
            let alias = Ident::with_quote('"', &text);
            items.push(SelectItem::ExprWithAlias { expr, alias });
        }
        Ok(items)
    }

    /// Returns the names in a call: the texts of a list, or literal texts.
    fn names(&mut self, function: &Function) -> Result<Vec<String>, Fault> {
        let at = place(function);
        let usage = || {
            Fault::new("bad-macro", at, "`columns` takes a list, or texts")
                .help("write `columns(list)` or `columns('a', 'b')`")
        };
        let args = plain_args(function).ok_or_else(usage)?;
        let texts = self.texts(&args, &usage)?;
        if texts.len() > MAX_COLUMNS {
            let message = format!("`columns` creates more than {MAX_COLUMNS} columns");
            return Err(Fault::new("query-too-long", at, message));
        }
        Ok(texts)
    }
}

/// Replaces calls of `columns` with a column.
struct Replacer<'t> {
    name: &'t str,
}

impl VisitorMut for Replacer<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(function) = &*expr else {
            return ControlFlow::Continue(());
        };
        if !is_columns(function) || !matches!(function.args, FunctionArguments::List(_)) {
            return ControlFlow::Continue(());
        }
        let mut column = Ident::with_quote('"', self.name);
        column.span.start = place(function);
        column.span.end = column.span.start;
        let table = function.name.0.first().and_then(|part| part.as_ident());
        *expr = match table {
            Some(table) if function.name.0.len() == 2 => {
                Expr::CompoundIdentifier(vec![table.clone(), column])
            }
            _ => Expr::Identifier(column),
        };
        ControlFlow::Continue(())
    }
}
