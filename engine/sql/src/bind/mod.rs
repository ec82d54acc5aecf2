//! Resolves the names and types in a query, and turns the query into a [`Relational`] plan.
//!
//! ```text
//! scope      which column a name refers to          types     which values can be compared or combined
//! query      WITH, set operations, ORDER BY, LIMIT   from      FROM and joins
//! select     SELECT and its clauses                 group     GROUP BY and aggregates
//! expr       expressions                            call      functions, aggregates and windows
//! subquery   subqueries in expressions, as joins    pull      references of a subquery to its outer query
//! constant   expressions without columns
//! ```
//!
//! Reports all errors of a query that do not depend on the data.

mod call;
mod constant;
mod expr;
mod from;
mod group;
mod pull;
mod query;
mod scope;
mod select;
mod subquery;
mod types;

use std::collections::BTreeSet;

use arrow::datatypes::DataType;
use prep_spec::query::tree::{Position, QueryTree};

use crate::QueryError;
use crate::relation::{ROW, Tables};
use crate::relational::{ColumnId, Expr, Node, Relational};
use scope::Parts;
pub(crate) use types::united;

/// Whether the result of a query must have a determined row order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowDemand {
    Ordered,
    AnyOrder,
}

/// A query whose names and types are resolved.
#[derive(Debug, Clone)]
pub(crate) struct BoundQuery {
    pub plan: Relational,
    /// The columns of the result, in order.
    pub columns: Vec<OutputColumn>,
    /// The columns of all operators of the plan.
    pub catalog: Catalog,
}

#[derive(Debug, Clone)]
pub(crate) struct OutputColumn {
    pub name: String,
    pub id: ColumnId,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Catalog(Vec<ColumnInfo>);

#[derive(Debug, Clone)]
pub(crate) struct ColumnInfo {
    pub name: String,
    pub data_type: DataType,
    /// The table of the column, and the column's position in this table. `_row` has the position after the last column.
    pub source: Option<(String, usize)>,
    /// A second column of the same scan, for [`BoundQuery::with_copies`].
    pub copy: Option<ColumnId>,
    /// Whether equal doubles of the column have equal bits, so that bits can be compared.
    pub is_canonical: bool,
}

impl Catalog {
    pub(crate) fn get(&self, id: ColumnId) -> &ColumnInfo {
        #[allow(
            clippy::indexing_slicing,
            reason = "only `add` creates identifiers, for the columns that it adds"
        )]
        &self.0[id.0 as usize]
    }

    pub(crate) fn add(&mut self, info: ColumnInfo) -> ColumnId {
        let id = ColumnId(u32::try_from(self.0.len()).unwrap_or(u32::MAX));
        self.0.push(info);
        id
    }
}

impl BoundQuery {
    /// Returns the columns with which the query computes, as opposed to columns that it only copies.
    pub(crate) fn used_columns(&self) -> BTreeSet<ColumnId> {
        let mut used = BTreeSet::new();
        add_used(&self.plan, &mut used);
        used
    }

    /// Takes each column of the result, with which the query also computes, from the copy of the column. The query computes
    /// with no copy, so the writer can copy the cells.
    pub(crate) fn with_copies(mut self) -> BoundQuery {
        let used = self.used_columns();
        for column in self.columns.iter_mut().filter(|one| used.contains(&one.id)) {
            let copy = self.catalog.get(column.id).copy;
            let copy = copy.filter(|copy| self.plan.columns.contains(copy));
            column.id = copy.unwrap_or(column.id);
        }
        self
    }

    /// Returns whether each row of the query comes from one row of the only table that the query scans.
    pub(crate) fn has_single_origin(&self) -> bool {
        fn visit(plan: &Relational, scans: &mut usize, has_outer_join: &mut bool) {
            use crate::relational::JoinKind;
            match plan.node.as_ref() {
                Node::Scan { .. } => *scans += 1,
                Node::Join { spec, .. } => {
                    *has_outer_join |= matches!(spec.kind, JoinKind::Left | JoinKind::Full);
                }
                _ => {}
            }
            for input in plan.node.inputs() {
                visit(input, scans, has_outer_join);
            }
        }
        let (mut scans, mut has_outer_join) = (0, false);
        visit(&self.plan, &mut scans, &mut has_outer_join);
        scans == 1 && !has_outer_join
    }
}

fn add_used(plan: &Relational, used: &mut BTreeSet<ColumnId>) {
    used.extend(plan.node.used());
    for input in plan.node.inputs() {
        add_used(input, used);
    }
}

pub(crate) fn bind(
    query: &QueryTree,
    tables: &Tables,
    demand: RowDemand,
) -> Result<BoundQuery, QueryError> {
    let mut binder = Binder {
        tables,
        catalog: Catalog::default(),
        demand,
    };
    let (plan, columns) = binder.query(query, &Parts::default(), None)?;
    let plan = match demand {
        RowDemand::Ordered => plan.arranged()?,
        RowDemand::AnyOrder => plan,
    };
    Ok(BoundQuery {
        plan,
        columns,
        catalog: binder.catalog,
    })
}

/// A plan, and the columns of its result.
type Bound = (Relational, Vec<OutputColumn>);

struct Binder<'t> {
    tables: &'t Tables,
    catalog: Catalog,
    demand: RowDemand,
}

impl Binder<'_> {
    fn column_for(&mut self, name: &str, expr: &Expr) -> ColumnId {
        self.column(name, expr.data_type.clone())
    }

    fn column(&mut self, name: &str, data_type: DataType) -> ColumnId {
        self.catalog.add(ColumnInfo {
            name: name.to_owned(),
            data_type,
            source: None,
            copy: None,
            is_canonical: false,
        })
    }

    /// Creates the column of a group key that has the values of the column `of`. Equal doubles in the new column have equal
    /// bits.
    fn key_column(&mut self, name: &str, of: ColumnId) -> ColumnId {
        let info = self.catalog.get(of);
        let info = ColumnInfo {
            name: name.to_owned(),
            data_type: info.data_type.clone(),
            source: None,
            copy: None,
            is_canonical: true,
        };
        self.catalog.add(info)
    }

    /// Returns an expression whose equal doubles have equal bits.
    fn canonical(&self, expr: Expr) -> Expr {
        let is_canonical = |id: ColumnId| self.catalog.get(id).is_canonical;
        match expr.as_column().is_some_and(is_canonical) {
            true => expr,
            false => types::canonical(expr),
        }
    }

    /// Returns a function that creates columns for row numbers.
    fn positions(&mut self) -> impl FnMut(DataType) -> ColumnId + '_ {
        |data_type| self.column(ROW, data_type)
    }

    fn reference(&self, id: ColumnId, at: Position) -> Expr {
        Expr::column(id, self.catalog.get(id).data_type.clone(), at)
    }

    /// Adds a column for an expression, unless the expression is a column of the plan.
    fn with_column(&mut self, plan: Relational, name: &str, expr: Expr) -> (Relational, ColumnId) {
        // `expr` may be a column of the outer query, which is not a column of `plan`.
        if let Some(id) = expr.as_column().filter(|id| plan.columns.contains(id)) {
            return (plan, id);
        }
        let id = self.column_for(name, &expr);
        (plan.computed(vec![(id, expr)]), id)
    }
}
