//! Determines the columns that a query computes with, as opposed to those that it only passes on.
//!
//! A column is *used* if it is part of any expression other than the column itself: a condition, a join key, a sort or
//! group key, or an argument of a function. It is also used if DataFusion compares entire rows (DISTINCT, UNION,
//! aggregates). All other columns are opaque: the query only moves them from a table to its result.

use std::collections::{BTreeMap, BTreeSet};

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchemaRef};
use datafusion::logical_expr::logical_plan::{Distinct, Subquery};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan};

use super::order::passed_column;

/// The used columns of each table, as positions in the scan's schema.
pub(crate) type UsedColumns = BTreeMap<String, BTreeSet<usize>>;

/// Returns the used columns of every table that the plan scans.
pub(crate) fn used(plan: &LogicalPlan) -> UsedColumns {
    let mut used = UsedColumns::new();
    trace(plan, &BTreeSet::new(), &mut used);
    used
}

/// Returns the table and column that an output column passes on unchanged. `None` if the output column is computed.
pub(crate) fn origin(plan: &LogicalPlan, index: usize) -> Option<(String, usize)> {
    let through = |input: &LogicalPlan, column: &Column| {
        let position = input.schema().index_of_column(column).ok()?;
        origin(input, position)
    };
    match plan {
        LogicalPlan::TableScan(scan) => {
            let position = scan
                .projection
                .as_ref()
                .map_or(Some(index), |projection| projection.get(index).copied())?;
            Some((scan.table_name.table().to_owned(), position))
        }
        LogicalPlan::Projection(projection) => through(
            &projection.input,
            passed_column(projection.expr.get(index)?)?,
        ),
        LogicalPlan::SubqueryAlias(alias) => origin(&alias.input, index),
        LogicalPlan::Filter(filter) => origin(&filter.input, index),
        LogicalPlan::Sort(sort) => origin(&sort.input, index),
        LogicalPlan::Limit(limit) => origin(&limit.input, index),
        LogicalPlan::Window(window) => (index < window.input.schema().fields().len())
            .then(|| origin(&window.input, index))
            .flatten(),
        LogicalPlan::Join(join) => match join.join_type {
            JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti => {
                let left = join.left.schema().fields().len();
                if index < left {
                    origin(&join.left, index)
                } else {
                    origin(&join.right, index - left)
                }
            }
            _ => None,
        },
        _ => None,
    }
}

/// Adds the columns that `plan` uses to `used`. `above` contains the output columns of `plan` that the nodes above it
/// use.
fn trace(plan: &LogicalPlan, above: &BTreeSet<usize>, used: &mut UsedColumns) {
    let all: BTreeSet<usize> = (0..plan.schema().fields().len()).collect();
    match plan {
        LogicalPlan::TableScan(scan) => {
            let table = used.entry(scan.table_name.table().to_owned()).or_default();
            let position = |index: &usize| {
                scan.projection
                    .as_ref()
                    .map_or(*index, |projection| projection[*index])
            };
            table.extend(above.iter().map(position));
        }
        LogicalPlan::Projection(projection) => {
            let mut below = BTreeSet::new();
            for (index, expr) in projection.expr.iter().enumerate() {
                if passed_column(expr).is_none() || above.contains(&index) {
                    mark(expr, projection.input.schema(), &mut below, used);
                }
            }
            trace(&projection.input, &below, used);
        }
        LogicalPlan::SubqueryAlias(alias) => trace(&alias.input, above, used),
        LogicalPlan::Filter(filter) => {
            let mut below = above.clone();
            mark(&filter.predicate, filter.input.schema(), &mut below, used);
            trace(&filter.input, &below, used);
        }
        LogicalPlan::Sort(sort) => {
            let mut below = above.clone();
            for key in &sort.expr {
                mark(&key.expr, sort.input.schema(), &mut below, used);
            }
            trace(&sort.input, &below, used);
        }
        LogicalPlan::Limit(limit) => trace(&limit.input, above, used),
        LogicalPlan::Window(window) => {
            let inner = window.input.schema().fields().len();
            let mut below: BTreeSet<usize> = above
                .iter()
                .copied()
                .filter(|index| *index < inner)
                .collect();
            for expr in &window.window_expr {
                mark(expr, window.input.schema(), &mut below, used);
            }
            trace(&window.input, &below, used);
        }
        LogicalPlan::Join(join) if is_plain(join.join_type) => {
            let left = join.left.schema().fields().len();
            let mut below_left: BTreeSet<usize> = above
                .iter()
                .copied()
                .filter(|index| *index < left)
                .collect();
            let mut below_right: BTreeSet<usize> = above
                .iter()
                .filter(|index| **index >= left)
                .map(|index| index - left)
                .collect();
            for (a, b) in &join.on {
                mark(a, join.left.schema(), &mut below_left, used);
                mark(b, join.right.schema(), &mut below_right, used);
            }
            if let Some(filter) = &join.filter {
                mark(filter, join.left.schema(), &mut below_left, used);
                mark(filter, join.right.schema(), &mut below_right, used);
            }
            trace(&join.left, &below_left, used);
            trace(&join.right, &below_right, used);
        }
        LogicalPlan::Aggregate(aggregate) => {
            let mut below = BTreeSet::new();
            for expr in aggregate.group_expr.iter().chain(&aggregate.aggr_expr) {
                mark(expr, aggregate.input.schema(), &mut below, used);
            }
            trace(&aggregate.input, &below, used);
        }
        LogicalPlan::Distinct(Distinct::All(input)) => trace(input, &all, used),
        _ => {
            for input in plan.inputs() {
                let everything = (0..input.schema().fields().len()).collect();
                trace(input, &everything, used);
            }
        }
    }
}

fn is_plain(join: JoinType) -> bool {
    matches!(
        join,
        JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti
    )
}

/// Marks all columns of an expression that belong to `schema`, and the columns that its subqueries use.
fn mark(expr: &Expr, schema: &DFSchemaRef, below: &mut BTreeSet<usize>, used: &mut UsedColumns) {
    let _ = expr.apply(|inner| {
        match inner {
            Expr::Column(column) | Expr::OuterReferenceColumn(_, column) => {
                below.extend(schema.index_of_column(column).ok());
            }
            Expr::ScalarSubquery(subquery) => subplan(subquery, schema, below, used),
            Expr::Exists(exists) => subplan(&exists.subquery, schema, below, used),
            Expr::InSubquery(within) => subplan(&within.subquery, schema, below, used),
            Expr::SetComparison(comparison) => subplan(&comparison.subquery, schema, below, used),
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    });
}

fn subplan(
    subquery: &Subquery,
    schema: &DFSchemaRef,
    below: &mut BTreeSet<usize>,
    used: &mut UsedColumns,
) {
    for outer in &subquery.outer_ref_columns {
        mark(outer, schema, below, used);
    }
    let all = (0..subquery.subquery.schema().fields().len()).collect();
    trace(&subquery.subquery, &all, used);
}
