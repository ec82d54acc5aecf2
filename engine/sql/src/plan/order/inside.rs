//! Makes the results of plan parts deterministic whose own row order is not visible.
//!
//! LIMIT, window functions and `first_value(x ORDER BY y)` depend on the order of their input rows. They also occur in
//! parts of a plan whose own order does not matter: subqueries of expressions, inputs of GROUP BY and DISTINCT, and
//! queries without order. These parts are rewritten like the rest of the plan, but only if they contain something that
//! depends on an order.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::functions::has_ordered_call;
use super::{OrderColumnNames, carry_order, columns_of};
use crate::QueryError;

/// Rewrites `plan` so that none of its results depends on an undetermined order. Keeps its columns. Its rows may come
/// in any order.
pub(super) fn determine_inside(
    plan: &LogicalPlan,
    names: &mut OrderColumnNames,
) -> Result<LogicalPlan, QueryError> {
    if !depends_on_order(plan) {
        return Ok(plan.clone());
    }
    let (carried, _) = carry_order(plan, names)?;
    without_carried(carried, plan)
}

/// Rewrites the subqueries of all expressions in `plan`, recursively.
pub(super) fn determine_subqueries(
    plan: LogicalPlan,
    names: &mut OrderColumnNames,
) -> Result<LogicalPlan, QueryError> {
    let mut failure = None;
    let rewritten = plan.transform_down(|node| {
        node.map_subqueries(|node| {
            let LogicalPlan::Subquery(mut subquery) = node else {
                return Ok(Transformed::no(node));
            };
            let inner = subquery.subquery.as_ref().clone();
            let determined = determine_subqueries(inner, names)
                .and_then(|inner| determine_inside(&inner, names));
            match determined {
                Ok(inner) => subquery.subquery = Arc::new(inner),
                Err(error) => failure = failure.take().or(Some(error)),
            }
            Ok(Transformed::yes(LogicalPlan::Subquery(subquery)))
        })
    });
    let rewritten = rewritten.map_err(|error| QueryError::plan(&error))?;
    failure.map_or(Ok(rewritten.data), Err)
}

/// Returns whether `plan`, without its subqueries, has a result that depends on the order of rows.
pub(super) fn depends_on_order(plan: &LogicalPlan) -> bool {
    let depends = plan.exists(|node| {
        Ok(match node {
            LogicalPlan::Window(_) | LogicalPlan::Limit(_) => true,
            LogicalPlan::Aggregate(aggregate) => aggregate.aggr_expr.iter().any(has_ordered_call),
            _ => false,
        })
    });
    // The closure does not fail.
    depends.unwrap_or(true)
}

/// Removes columns that were added to carry the order.
pub(super) fn without_carried(
    carried: LogicalPlan,
    original: &LogicalPlan,
) -> Result<LogicalPlan, QueryError> {
    if carried.schema().fields().len() == original.schema().fields().len() {
        return Ok(carried);
    }
    let columns = original.schema().columns().into_iter().map(Expr::Column);
    columns_of(carried, columns.collect())
}
