//! Conditions stay above aggregates of all rows.
//!
//! DataFusion moves a condition that names no column below any aggregate. Below one without GROUP BY, a condition that
//! is false leaves its one row, where it should leave none. A limit of one row, which such an aggregate has anyway, is
//! in the way of conditions.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::logical_plan::Limit;
use datafusion::logical_expr::{LogicalPlan, lit};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

#[derive(Debug)]
pub(super) struct KeepConditionsAbove;

impl OptimizerRule for KeepConditionsAbove {
    fn name(&self) -> &str {
        "keep_conditions_above"
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        limited(plan, false)
    }
}

/// `is_limited`: the plan above is a limit, made here when the rules ran before.
fn limited(plan: LogicalPlan, is_limited: bool) -> Result<Transformed<LogicalPlan>> {
    let is_limit = matches!(plan, LogicalPlan::Limit(_));
    let needs_limit = is_total(&plan) && !is_limited;
    let plan = plan.map_children(|input| limited(input, is_limit))?;
    if !needs_limit {
        return Ok(plan);
    }
    Ok(Transformed::yes(LogicalPlan::Limit(Limit {
        skip: None,
        fetch: Some(Box::new(lit(1_i64))),
        input: Arc::new(plan.data),
    })))
}

/// An aggregate of all rows, which has one row.
fn is_total(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty())
}
