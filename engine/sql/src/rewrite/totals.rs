//! Keeps conditions above aggregates without GROUP BY.
//!
//! DataFusion moves a condition without columns below any aggregate. An aggregate without GROUP BY always has one row,
//! so a false condition below it leaves that row, although it should remove it. This rule inserts a limit of one row
//! above such an aggregate, because DataFusion does not move conditions below a limit.

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

/// `is_limited` is true if the parent is a limit, which an earlier pass of this rule may have inserted.
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

/// Returns whether a plan is an aggregate of all rows, which has one row.
fn is_total(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty())
}
