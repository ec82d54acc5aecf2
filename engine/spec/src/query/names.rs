//! Names in a query: finds the tables that it reads, and reports reserved names.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, ObjectName, Query as Tree, Select, SelectItem, SetExpr, Visit, Visitor,
};
use sqlparser::tokenizer::{Location, Span};

use super::fault::Fault;

/// The name of the hidden column that contains a row's position.
pub const ROW: &str = "_row";

/// Maximum nesting of expressions. Each operator of a chain such as `a + b + c` is one level.
const MAX_DEPTH: usize = 250;

pub(super) fn not_a_select(at: Location) -> Fault {
    Fault::new("not-a-select", at, "the query is not a SELECT")
        .help("begin the query with SELECT or WITH")
}

/// Returns every mention of a table that the query does not define itself, in the order of the text.
pub(super) fn tables(tree: &Tree) -> Vec<(String, Span)> {
    let mut finder = Finder::default();
    let _: ControlFlow<()> = tree.visit(&mut finder);
    let mut found = finder.found;
    found.sort_by_key(|(_, span)| span.start);
    found
}

/// Finds the tables that a query reads. A name that WITH defines hides a table with that name in the query itself and
/// in later definitions.
#[derive(Default)]
struct Finder {
    scopes: Vec<Scope>,
    found: Vec<(String, Span)>,
}

/// The names that a WITH clause defines.
struct Scope {
    /// Each name, with the address of the query that defines it.
    names: Vec<(String, *const Tree)>,
    /// Number of names that are visible at the current position.
    visible: usize,
}

impl Visitor for Finder {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Tree) -> ControlFlow<()> {
        if let Some(scope) = self.scopes.last_mut()
            && let Some(index) = scope.index(query)
        {
            scope.visible = index;
        }
        let parts = query.with.iter().flat_map(|with| &with.cte_tables);
        let named = parts.map(|cte| {
            (
                cte.alias.name.value.clone(),
                std::ptr::from_ref(&*cte.query),
            )
        });
        let names: Vec<_> = named.collect();
        self.scopes.push(Scope {
            visible: names.len(),
            names,
        });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Tree) -> ControlFlow<()> {
        self.scopes.pop();
        if let Some(scope) = self.scopes.last_mut()
            && scope.index(query).is_some()
        {
            scope.visible = scope.names.len();
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let name = dotted(relation);
        let hidden = self.scopes.iter().any(|scope| {
            let seen = scope.names.iter().take(scope.visible);
            seen.into_iter().any(|(own, _)| *own == name)
        });
        if !hidden {
            let span = relation.0.first().and_then(|part| part.as_ident());
            let span = span.map_or(Span::empty(), |ident| ident.span);
            self.found.push((name, span));
        }
        ControlFlow::Continue(())
    }
}

impl Scope {
    fn index(&self, query: &Tree) -> Option<usize> {
        let mut names = self.names.iter();
        names.position(|(_, own)| std::ptr::eq(*own, query))
    }
}

fn dotted(name: &ObjectName) -> String {
    let parts = name.0.iter().map(|part| match part.as_ident() {
        Some(ident) => ident.value.clone(),
        None => part.to_string(),
    });
    parts.collect::<Vec<_>>().join(".")
}

/// Reports statements that have the syntax of a query but are not a SELECT, and reserved names. Returns `false` if the
/// tree is too deep to be processed further.
pub(super) fn check(tree: &Tree, faults: &mut Vec<Fault>) -> bool {
    let mut checker = Checker { faults, depth: 0 };
    if tree.visit(&mut checker).is_break() {
        return false;
    }
    if let Some(select) = first_select(&tree.body) {
        for item in &select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && let Some(ident) = column(expr)
                && is_row(&ident.value)
            {
                let help = "rename it: `_row AS position`";
                faults.push(reserved_name(ident).help(help));
            }
        }
    }
    true
}

struct Checker<'f> {
    faults: &'f mut Vec<Fault>,
    /// Number of expressions that enclose the current one.
    depth: usize,
}

impl Visitor for Checker<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Tree) -> ControlFlow<()> {
        if !reads(&query.body) {
            self.faults.push(not_a_select(Location::new(1, 1)));
        }
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            for column in &cte.alias.columns {
                if is_row(&column.name.value) {
                    self.faults.push(reserved_name(&column.name));
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("an expression is nested more than {MAX_DEPTH} levels deep");
            let fault = Fault::new("query-too-long", Location::new(1, 1), message);
            self.faults.push(fault);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if select.into.is_some() {
            let at = select.select_token.0.span.start;
            let fault = Fault::new("not-a-select", at, "`SELECT INTO` creates a table");
            self.faults.push(
                fault.help("remove INTO; the query's key in `tables` is the name of its table"),
            );
        }
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item
                && is_row(&alias.value)
            {
                self.faults.push(reserved_name(alias));
            }
        }
        ControlFlow::Continue(())
    }
}

fn reserved_name(ident: &Ident) -> Fault {
    let message = "the name `_row` is reserved for a hidden column of every table";
    Fault::new("reserved-column", ident.span.start, message)
}

/// Returns whether this is the name of the hidden column. Ignores case.
pub fn is_row(name: &str) -> bool {
    name.eq_ignore_ascii_case(ROW)
}

/// Returns the column name if an expression consists only of a column.
fn column(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Identifier(ident) => Some(ident),
        Expr::CompoundIdentifier(idents) => idents.last(),
        _ => None,
    }
}

fn reads(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => true,
        SetExpr::SetOperation { left, right, .. } => reads(left) && reads(right),
        _ => false,
    }
}

/// Returns the SELECT that determines the column names of the result.
fn first_select(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => first_select(&query.body),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}
