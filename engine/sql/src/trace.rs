//! Follows values of a query back to the columns of its tables.

use crate::bind::BoundQuery;
use crate::check::Columns;
use crate::relational::{ColumnId, Expr, ExprKind, Node, Relational};

/// A column of a table of the pipeline, or the value at a path in the column's JSON values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub table: String,
    pub column: String,
    /// Keys of JSON objects and positions in lists. Empty for the entire value.
    pub path: Vec<String>,
    /// The names of the split tables through which the value was traced back to `table`, from the smallest part to the
    /// largest. Empty if the value is in all rows of `table`.
    pub parts: Vec<String>,
}

impl Origin {
    /// Returns whether this value contains the value of `other`. The rows of a table contain the rows of its parts.
    pub fn contains(&self, other: &Origin) -> bool {
        (&self.table, &self.column) == (&other.table, &other.column)
            && other.parts.ends_with(&self.parts)
            && other.path.starts_with(&self.path)
    }
}

/// Follows columns of a query's result back to the columns of its tables.
pub(crate) struct Trace<'q> {
    pub tables: &'q [(String, Columns)],
    pub bound: &'q BoundQuery,
    /// Whether the trace continues through functions: from the value of a function to the only value from which the
    /// function computes it.
    pub follows_functions: bool,
}

impl<'q> Trace<'q> {
    /// Follows only copies of values and of members of JSON values.
    pub fn copies(tables: &'q [(String, Columns)], bound: &'q BoundQuery) -> Trace<'q> {
        Trace {
            tables,
            bound,
            follows_functions: false,
        }
    }

    /// Returns the only value from which a column is computed.
    pub fn column(&self, id: ColumnId) -> Option<Origin> {
        let Some((table, index)) = &self.bound.catalog.get(id).source else {
            return self.expr(computed(&self.bound.plan, id)?);
        };
        let (_, columns) = self.tables.iter().find(|(name, _)| name == table)?;
        Some(Origin {
            table: table.clone(),
            column: columns.get(*index)?.name.clone(),
            path: Vec::new(),
            parts: Vec::new(),
        })
    }

    pub fn expr(&self, expr: &Expr) -> Option<Origin> {
        match &expr.kind {
            ExprKind::Column(id) => self.column(*id),
            ExprKind::Cast { expr, .. } => self.expr(expr),
            ExprKind::Call { function, args } if function.name() == "json_get" => {
                let [json, path] = args.as_slice() else {
                    return None;
                };
                let mut origin = self.expr(json)?;
                let path = path.as_literal()?.try_as_str()??;
                origin.path.extend(path.split('.').map(str::to_owned));
                Some(origin)
            }
            _ if self.follows_functions => {
                let parts = expr.children().into_iter();
                let mut parts = parts.filter(|part| !part.is_constant());
                let origin = self.expr(parts.next()?)?;
                let is_same = |part: &Expr| self.expr(part).as_ref() == Some(&origin);
                parts.all(is_same).then_some(origin)
            }
            _ => None,
        }
    }
}

/// Returns the expression that computes a column.
fn computed(plan: &Relational, id: ColumnId) -> Option<&Expr> {
    if let Node::Compute { exprs, .. } = plan.node.as_ref()
        && let Some((_, expr)) = exprs.iter().find(|(other, _)| *other == id)
    {
        return Some(expr);
    }
    let mut inputs = plan.node.inputs().into_iter();
    inputs.find_map(|input| computed(input, id))
}
