//! Finds columns in `* REPLACE (... AS a)` that do not exist.
//!
//! DataFusion's planner ignores a replacement for a column that does not exist. Therefore a query with REPLACE is
//! planned a second time, with each column replaced by itself: `* REPLACE (a AS a)`. This fails if the column does not
//! exist.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectNamePart, Query as Ast, Select, SelectItem, SelectItemQualifiedWildcardKind,
    VisitMut, VisitorMut,
};

/// Returns the query with every replaced column replaced by itself, and the names of these columns. `None` if the query
/// does not use REPLACE.
pub(crate) fn replaced_columns(query: &Ast) -> Option<(Ast, Vec<String>)> {
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
