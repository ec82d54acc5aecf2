//! `* REPLACE (... AS a)`: the planner does not ask whether there is a column `a`, and replaces nothing if there is none.
//!
//! So a query that replaces is planned once more, each replaced column by itself: `* REPLACE (a AS a)`. That fails where
//! there is no such column.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectNamePart, Query as Ast, Select, SelectItem, SelectItemQualifiedWildcardKind,
    VisitMut, VisitorMut,
};

/// The query with every replaced column in its own place, and the names of these columns; none if nothing is replaced.
pub(crate) fn by_themselves(query: &Ast) -> Option<(Ast, Vec<String>)> {
    let mut query = query.clone();
    let mut replacer = Replacer { names: Vec::new() };
    let _: ControlFlow<()> = query.visit(&mut replacer);
    (!replacer.names.is_empty()).then_some((query, replacer.names))
}

struct Replacer {
    names: Vec<String>,
}

impl VisitorMut for Replacer {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            let (table, options) = match item {
                SelectItem::Wildcard(options) => (Vec::new(), options),
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(table),
                    options,
                ) => {
                    let parts = table.0.iter().filter_map(ObjectNamePart::as_ident);
                    (parts.cloned().collect(), options)
                }
                _ => continue,
            };
            for element in options
                .opt_replace
                .iter_mut()
                .flat_map(|replace| &mut replace.items)
            {
                self.names.push(element.column_name.value.clone());
                element.expr = column(&table, &element.column_name);
            }
        }
        ControlFlow::Continue(())
    }
}

fn column(table: &[Ident], name: &Ident) -> Expr {
    if table.is_empty() {
        return Expr::Identifier(name.clone());
    }
    Expr::CompoundIdentifier(table.iter().chain([name]).cloned().collect())
}
