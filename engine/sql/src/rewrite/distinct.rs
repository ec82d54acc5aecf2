//! Moves the lookup of INTERSECT and EXCEPT before the removal of duplicates, to save memory.
//!
//! DataFusion plans `SELECT a FROM t INTERSECT SELECT a FROM u` as the distinct rows of `t`, followed by a semi join
//! with `u`. The distinct rows, which may be nearly all of `t`, would be kept in memory. In the opposite order, only
//! the matching rows are kept in memory.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::logical_plan::{Distinct, Join};
use datafusion::logical_expr::{JoinType, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

#[derive(Debug)]
pub(super) struct LookUpFirst;

impl OptimizerRule for LookUpFirst {
    fn name(&self) -> &str {
        "look_up_first"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(join) = &plan else {
            return Ok(Transformed::no(plan));
        };
        let LogicalPlan::Distinct(Distinct::All(rows)) = join.left.as_ref() else {
            return Ok(Transformed::no(plan));
        };
        if !matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti) {
            return Ok(Transformed::no(plan));
        }
        let looked_up = Join::try_new(
            rows.clone(),
            join.right.clone(),
            join.on.clone(),
            join.filter.clone(),
            join.join_type,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        )?;
        let looked_up = Arc::new(LogicalPlan::Join(looked_up));
        Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::All(
            looked_up,
        ))))
    }
}
