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
use datafusion::optimizer::ApplyOrder;

use super::LogicalRule;

pub(super) const LOOK_UP_FIRST: LogicalRule = LogicalRule {
    name: "look_up_first",
    order: Some(ApplyOrder::TopDown),
    rewrite,
};

fn rewrite(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(join) = &plan else {
        return Ok(Transformed::no(plan));
    };
    let LogicalPlan::Distinct(Distinct::All(rows)) = join.left.as_ref() else {
        return Ok(Transformed::no(plan));
    };
    if !matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti) {
        return Ok(Transformed::no(plan));
    }
    let looked_up = Join {
        left: rows.clone(),
        ..join.clone()
    };
    let looked_up = Distinct::All(Arc::new(LogicalPlan::Join(looked_up)));
    Ok(Transformed::yes(LogicalPlan::Distinct(looked_up)))
}
