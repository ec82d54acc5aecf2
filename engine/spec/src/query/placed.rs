//! Completes queries for directories of files: `SELECT p.file` becomes `SELECT p.file, p.name AS path`.

use sqlparser::ast::{Expr, Ident, SelectItem, SetExpr};

/// Adds the column `path` to every SELECT of the result that selects only `file`.
pub(super) fn add_path(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            let [SelectItem::UnnamedExpr(file)] = select.projection.as_slice() else {
                return;
            };
            if let Some(name) = name_of_file(file) {
                select.projection.push(SelectItem::ExprWithAlias {
                    expr: name,
                    alias: Ident::new("path"),
                });
            }
        }
        SetExpr::Query(query) => add_path(&mut query.body),
        SetExpr::SetOperation { left, right, .. } => {
            add_path(left);
            add_path(right);
        }
        _ => {}
    }
}

/// Returns the column `name` of the table from which the column `file` is selected. It has the position of the column
/// `file`.
fn name_of_file(file: &Expr) -> Option<Expr> {
    let named = |ident: &Ident| {
        let is_file = ident.value == "file";
        is_file.then(|| Ident::with_span(ident.span, "name"))
    };
    match file {
        Expr::Identifier(ident) => Some(Expr::Identifier(named(ident)?)),
        Expr::CompoundIdentifier(idents) => {
            let (last, table) = idents.split_last()?;
            let idents = table.iter().cloned().chain([named(last)?]);
            Some(Expr::CompoundIdentifier(idents.collect()))
        }
        _ => None,
    }
}
