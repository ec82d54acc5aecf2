//! Keeps conditions above aggregates without GROUP BY.
//!
//! DataFusion moves a condition without columns below any aggregate. An aggregate without GROUP BY always returns one
//! row. So it would return that row even if the condition below it is false, although the condition should remove the
//! row. This rule inserts a limit of one row above such an aggregate, because DataFusion does not move conditions below
//! a limit.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::logical_plan::Limit;
use datafusion::logical_expr::{LogicalPlan, lit};

use super::LogicalRule;

pub(super) const KEEP_CONDITIONS_ABOVE: LogicalRule = LogicalRule {
    name: "keep_conditions_above",
    order: None,
    rewrite: |plan| insert_limit(plan, false),
};

/// Inserts the limit, unless `is_limited` is true: then the parent is already a limit, possibly from an earlier pass of
/// this rule.
fn insert_limit(plan: LogicalPlan, is_limited: bool) -> Result<Transformed<LogicalPlan>> {
    let is_limit = matches!(plan, LogicalPlan::Limit(_));
    let needs_limit = is_total(&plan) && !is_limited;
    let plan = plan.map_children(|input| insert_limit(input, is_limit))?;
    if !needs_limit {
        return Ok(plan);
    }
    Ok(Transformed::yes(LogicalPlan::Limit(Limit {
        skip: None,
        fetch: Some(Box::new(lit(1_i64))),
        input: Arc::new(plan.data),
    })))
}

/// Returns whether a plan is an aggregate without GROUP BY, which returns one row.
fn is_total(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty())
}
