//! Finds computed columns without a name.

use sqlparser::ast::{Expr, Query as Tree, SelectItem, SetExpr, Spanned as _};
use sqlparser::tokenizer::Location;

use super::super::macros::is_macro;

/// Returns the computed columns of a query that have no name (AS), each with its position and text. The column names of
/// a set operation are those of its first SELECT.
pub fn unnamed(tree: &Tree) -> Vec<(Location, String)> {
    let mut found = Vec::new();
    in_body(&tree.body, &mut found);
    found
}

fn in_body(body: &SetExpr, found: &mut Vec<(Location, String)>) {
    match body {
        SetExpr::Select(select) => {
            for item in &select.projection {
                if let SelectItem::UnnamedExpr(expr) = item
                    && !has_name(expr)
                {
                    let start = expr.span().start;
                    let start = match start.line {
                        0 => select.select_token.0.span.start,
                        _ => start,
                    };
                    found.push((start, expr.to_string()));
                }
            }
        }
        SetExpr::Query(query) => in_body(&query.body, found),
        SetExpr::SetOperation { left, .. } => in_body(left, found),
        _ => {}
    }
}

/// Returns whether the column has the name of the column that the expression consists of.
fn has_name(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
        Expr::Nested(inner) => has_name(inner),
        Expr::Function(function) => is_macro(function),
        _ => false,
    }
}
